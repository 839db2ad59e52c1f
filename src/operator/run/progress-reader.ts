import type { Clock } from '../../core/clock.ts';
import { type ApiObject, controllerReference, keyOf, type ObjectKey } from '../../kube/api/api-object.ts';
import { at, listAt, numberAt, textAt, textsAt } from '../../kube/objects/fields.ts';
import { ATTEMPT_LABEL, replicaName } from '../kinds/names.ts';
import type { JobKind } from '../kinds/kind.ts';
import { leaderOf, parseJob } from '../kinds/parse-job.ts';
import { observedJobOf } from '../observed/observed-job.ts';
import { progressKey } from '../observed/reconcile-observed.ts';
import type { Progress } from '../reconcile/draft.ts';
import { inParallel } from '../reconcile/in-parallel.ts';
import { type OperatorStores, SUBJECT_INDEX } from '../reconcile/world.ts';
import { parseRecord } from '../training-run/parse-record.ts';
import { currentAttempt } from '../training-run/record.ts';
import { runName, subjectOf } from '../training-run/training-run.ts';
import { jobTurn, observedTurn } from './job-keys.ts';

/** Reads the body of `/status` from a port of a pod; null: it does not answer. */
export type ReadStatus = (pod: ApiObject, port: number, options: { readonly signal: AbortSignal }) => Promise<string | null>;

/** What a progress reader works with. */
export interface ProgressReaderOptions {
  readonly stores: OperatorStores;
  readonly readStatus: ReadStatus;
  readonly clock: Clock;
  /** Hears of the jobs whose record is behind what rank 0 reports. */
  readonly onTurn: (turn: string) => void;
}

/** A pod that is asked for the progress of its run. */
interface Asked {
  /** Under what its report is kept. */
  readonly id: string;
  readonly pod: ApiObject;
  readonly container: string;
  readonly attempt: number;
  readonly run: ObjectKey;
  /** The turn that a new report calls for. */
  readonly turn: string;
}

const EVERY_MS = 10_000;
const LONGEST_TRIAL = 200;
/** A gang that was asked to save is waited for. */
const EVERY_MS_WHILE_ASKED = 1000;
const SCHEMA = 'holdfast.status/1';

/** Asks rank 0 of every job for its step, as long as a supervisor serves its status there. */
export class ProgressReader {
  readonly #options: ProgressReaderOptions;
  readonly #reports = new Map<string, { readonly attempt: number; readonly progress: Progress }>();

  constructor(options: ProgressReaderOptions) {
    this.#options = options;
  }

  /** The newest report of a run in this attempt; null: none came. */
  progressOf(id: string, attempt: number): Progress | null {
    const report = this.#reports.get(id);
    return report?.attempt === attempt ? report.progress : null;
  }

  /** Asks every ten seconds, and gangs that save to make room every second, until the signal. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clock } = this.#options;
    let allAtMs: number = clock.now();
    while (!signal.aborted) {
      const isForAll = clock.now() >= allAtMs;
      if (isForAll) allAtMs = clock.now() + EVERY_MS;
      await this.#askAll(signal, isForAll);
      await clock.sleep(EVERY_MS_WHILE_ASKED, { signal }).catch(() => undefined);
    }
  }

  async #askAll(signal: AbortSignal, isForAll: boolean): Promise<void> {
    const { stores } = this.#options;
    const jobs = [...stores.jobs].flatMap(([kind, store]) => [...store.all()].flatMap((object) => this.#leaderOf(kind, object)));
    const observed = [...stores.observed.all()].flatMap((object) => this.#leadersOf(object));
    const asked = [...jobs, ...observed];
    const known = new Set(asked.map(({ id }) => id));
    for (const id of this.#reports.keys()) if (!known.has(id)) this.#reports.delete(id);
    await inParallel(asked, async (asking) => {
      if (!signal.aborted && (isForAll || this.#isAwaited(asking))) await this.#ask(asking, signal);
    });
  }

  /** Whether the gang was asked to save, to make room. */
  #isAwaited({ run }: Asked): boolean {
    return textAt(this.#options.stores.runs.get(run), 'status', 'room', 'stage') === 'asked';
  }

  /** The pod that reports for a job, and the attempt of its label. */
  #leaderOf(kind: JobKind, object: ApiObject): readonly Asked[] {
    const job = parseJob(kind, object);
    const key = keyOf(object);
    const pod = this.#options.stores.pods.get({ ...key, name: replicaName(job, leaderOf(job)?.role ?? 'Worker', 0) });
    // A pod of that name may belong to a job that was deleted just now.
    if (pod === null || controllerReference(pod)?.uid !== job.uid) return [];
    const attempt = Number(pod.metadata.labels?.[ATTEMPT_LABEL] ?? 1);
    return [{ id: job.uid, pod, container: kind.container, attempt, run: { ...key, name: runName(job) }, turn: jobTurn(kind, key) }];
  }

  /** The pods that report for the runs of a Job, each in the attempt of the record. */
  #leadersOf(object: ApiObject): readonly Asked[] {
    const { stores } = this.#options;
    const job = observedJobOf(object);
    const key = keyOf(object);
    return stores.runs.by(SUBJECT_INDEX, job.uid).flatMap((run) => {
      const record = parseRecord(run['status']);
      const name = record === null ? null : currentAttempt(record).pod;
      const pod = name === null ? null : stores.pods.get({ ...key, name });
      if (record === null || pod === null) return [];
      const id = progressKey(job, subjectOf(run)?.index ?? null);
      return [{ id, pod, container: job.container, attempt: record.attempt, run: keyOf(run), turn: observedTurn(key) }];
    });
  }

  async #ask({ id, pod, container, attempt, run, turn }: Asked, signal: AbortSignal): Promise<void> {
    const { stores, readStatus, clock, onTurn } = this.#options;
    const port = statusPortOf(pod, container);
    if (port === null || textAt(pod, 'status', 'phase') !== 'Running') return;
    const body = await readStatus(pod, port, { signal }).catch(() => null);
    const progress = body === null ? null : parseProgress(body, clock.now());
    if (progress === null) return;
    this.#reports.set(id, { attempt, progress });
    const recorded = stores.runs.get(run);
    const isBehind =
      numberAt(recorded, 'status', 'progress', 'step') !== progress.step ||
      numberAt(recorded, 'status', 'progress', 'lastGoodStep') !== progress.lastGoodStep;
    if (isBehind) onTurn(turn);
  }
}

/** The port on which the supervisor in a pod serves its status to others; null: none. */
export function statusPortOf(pod: ApiObject, container: string): number | null {
  const own = listAt(pod, 'spec', 'containers').find((each) => textAt(each, 'name') === container);
  const line = [...textsAt(own, 'command'), ...textsAt(own, 'args')].join(' ');
  const match = /--status[= ](?:\[([0-9a-fA-F:]+)\]|([0-9.]+)):(\d{1,5})(?= |$)/.exec(line.split(' -- ', 1)[0] ?? '');
  const host = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? 0);
  return port < 1 || port > 65_535 || host === '::1' || host.startsWith('127.') ? null : port;
}

/** What a status says about progress; null: it is no status. */
export function parseProgress(body: string, nowMs: number): Progress | null {
  let status: unknown;
  try {
    status = JSON.parse(body) as unknown;
  } catch {
    return null;
  }
  if (textAt(status, 'schema') !== SCHEMA) return null;
  const ageSeconds = numberAt(status, 'lastGood', 'ageSeconds');
  const saveSeconds = numberAt(status, 'flush', 'p95Seconds') ?? numberAt(status, 'saves', 'last', 'seconds');
  return {
    step: count(numberAt(status, 'progress', 'step')),
    lastGoodStep: count(numberAt(status, 'lastGood', 'step')),
    lastGoodAgeMs: ageSeconds === null || ageSeconds < 0 || ageSeconds > 1e9 ? null : ageSeconds * 1000,
    accelerators: count(numberAt(status, 'unsaved', 'accelerators')),
    loss: numberAt(status, 'loss'),
    trial: textAt(status, 'trial', 'name')?.slice(0, LONGEST_TRIAL) ?? null,
    unsavedAcceleratorSeconds: seconds(numberAt(status, 'unsaved', 'acceleratorSeconds')),
    saveSeconds: at(status, 'saves', 'onRequest') === false ? null : seconds(saveSeconds),
    readMs: nowMs,
  };
}

function count(value: number | null): number | null {
  return value !== null && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function seconds(value: number | null): number | null {
  return value !== null && value >= 0 && value < 1e12 ? Math.round(1000 * value) / 1000 : null;
}
