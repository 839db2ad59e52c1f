import { existsSync } from 'node:fs';
import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import type { ClusterState } from '../../../kube/objects/cluster-state.ts';
import type { DumpProblem } from '../../../kube/objects/dump-limits.ts';
import type { KubeObject } from '../../../kube/objects/object.ts';
import type { Pod } from '../../../kube/objects/pod.ts';
import { readLedger } from '../../../ledger/reader.ts';
import { ledgerFolder } from '../../../ledger/ledger-files.ts';
import { lanesOf } from '../../../ledger/timeline.ts';
import type { Answer } from '../../../why/answer.ts';
import { endedAttempts, type RecordedRun, runRecordsOf, type RunRecords } from '../../../why/facts/run-records.ts';
import { answersOf, answersOfRun, isEnd, NO_LEDGER, podsUnder, type RunLedger } from '../../../why/subjects.ts';
import { parseTarget } from '../../cluster/cluster-options.ts';
import { type ReadState, readState, type StateSource } from '../../cluster/read-state.ts';

/** The question of one call of `why`. */
export interface Question {
  readonly operands: readonly string[];
  readonly file: string | null;
  readonly run: string | null;
  /** Null: one subject; otherwise every end within this time. */
  readonly since: number | null;
  readonly source: Omit<StateSource, 'files'>;
}

/** The answers, and the problems met on the way. */
export interface Found {
  readonly answers: readonly Answer[];
  readonly problems: readonly DumpProblem[];
  /** The subject of the question: `job/train in ml`, `3 files`, `/runs/gpt2`. */
  readonly about: string;
  readonly since: number | null;
  readonly hasLedger: boolean;
  /** How many TrainingRuns were read. */
  readonly runs: number;
}

interface Sources {
  readonly ledger: RunLedger;
  readonly records: RunRecords;
}

/** Finds the ends in question and judges each. */
export async function findAnswers(question: Question): Promise<Found> {
  const { operands, file, since, source } = question;
  const targets = operands.flatMap((text) => parseTarget(text) ?? []);
  const paths = operands.filter((text) => parseTarget(text) === null);
  const folders = [...(question.run === null ? [] : [question.run]), ...(file === null ? paths : [])];
  const ledger = await source.whileBusy(() => ledgerOf(folders));
  if (file === null && targets.length === 0 && folders.length > 0) {
    const answers = answersOfRun(ledger).filter((answer) => isSince(answer, question));
    return { answers: sorted(answers, since), problems: [], about: folders.map(printable).join(', '), since, hasLedger: true, runs: 0 };
  }
  const read = await readState({ ...source, files: file === null ? [] : [file, ...paths] });
  const records = runRecordsOf(read.state.objects);
  const runs = [...records.values()].flat();
  const answers = await source.whileBusy(() =>
    targets.length > 0
      ? targets.flatMap((target) => answersAbout(target, read, { ledger, records }))
      : answersOf(read.state.pods, read.state, { ledger, attempts: endedAttempts(runs) }).filter(isEnd),
  );
  return {
    answers: answers.filter((answer) => isSince(answer, question)),
    problems: read.problems,
    about: targets.length > 0 ? targets.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`).join(', ') : read.from,
    since,
    hasLedger: ledger.lanes.length > 0,
    runs: runs.length,
  };
}

/** For one subject, the newest end comes first. A summary counts only ends. */
function sorted(answers: readonly Answer[], since: number | null): readonly Answer[] {
  return since === null ? answers : answers.filter(isEnd);
}

function isSince({ atMs }: Answer, { since, source }: Question): boolean {
  return since === null || atMs === null || atMs >= source.clock.now() - since;
}

/** The pods and the recorded attempts of a target. */
function answersAbout(
  { kind, name }: { kind: string; name: string },
  { state, namespace, from }: ReadState,
  { ledger, records }: Sources,
): readonly Answer[] {
  const [object] = state.find(kind, name, namespace);
  const attempts = endedAttempts(runsAbout({ kind, name, namespace, uid: object?.uid ?? null }, records)).filter(
    ({ end }) => kind !== 'Pod' || end?.pod === name,
  );
  if (object === undefined && attempts.length === 0) {
    const events = state.eventsAbout({ kind, name, namespace });
    const last = events.at(-1);
    throw new HoldfastError('OBJECT_NOT_FOUND', {
      message: `there is no ${kind.toLowerCase()}/${name}${namespace === null ? '' : ` in ${namespace}`} (${from})${last === undefined ? '' : `; the last event about it is ${last.reason}: ${printable(last.message)}`}`,
      hint: 'Check the namespace (-n). If the pod is gone, its Job or the ledger of its run (holdfast why RUN) may still show the cause.',
    });
  }
  const pods = object === undefined ? [] : podsOfSubject(object, state);
  if (pods.length === 0 && attempts.length === 0) {
    throw new HoldfastError('OBJECT_NOT_FOUND', {
      message: `${kind.toLowerCase()}/${name} no longer has pods (${from})`,
      hint: 'The ledger of its run may still show the cause: holdfast why RUN.',
    });
  }
  return answersOf(pods, state, { ledger, attempts });
}

/** The TrainingRuns that may know about a target: itself, that of a job, or all for a pod. */
function runsAbout(
  target: { readonly kind: string; readonly name: string; readonly namespace: string | null; readonly uid: string | null },
  records: RunRecords,
): readonly RecordedRun[] {
  const { kind, name, namespace } = target;
  const all = [...records.values()].flat().filter(({ object }) => namespace === null || object.namespace === namespace);
  if (kind === 'Pod') return all;
  if (kind === 'TrainingRun') return all.filter(({ object }) => object.name === name);
  return all.filter(({ job }) => job.kind === kind && job.name === name && (target.uid ?? job.uid) === (job.uid ?? target.uid));
}

/** The pods of an object; those of a TrainingRun are the pods of its job. */
function podsOfSubject(object: KubeObject, state: ClusterState): readonly Pod[] {
  const [run] = [...runRecordsOf([object]).values()].flat();
  if (run === undefined) return podsUnder(object, state);
  return state.find(run.job.kind, run.job.name, object.namespace).flatMap((job) => podsUnder(job, state));
}

function ledgerOf(runs: readonly string[]): RunLedger {
  if (runs.length === 0) return NO_LEDGER;
  const events = runs.flatMap((run) => {
    const reading = readLedger(run);
    if (reading.events.length === 0 && !existsSync(ledgerFolder(run))) {
      throw new HoldfastError('PATH_NOT_FOUND', {
        message: `${printable(run)} has no ledger: no attempt has run there under holdfast run`,
        hint: 'Give the folder of a run, kind/name for an object of a cluster, or -f for a dump.',
      });
    }
    return reading.events;
  });
  return { events, lanes: lanesOf(events) };
}
