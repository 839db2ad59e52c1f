import { timeAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { type Gang, gangAccelerators } from './gang.ts';
import { mergedRecord, recordOfAnnotations, recordOfRun, type SaveRecord, workloadOfRun } from './training-run.ts';

/** What a gang loses if it stops now. Null is unknown; it never means nothing. */
export interface LostWork {
  readonly accelerators: number;
  /** When the first pod of its present life started. */
  readonly startedMs: number | null;
  /** Seconds of training since the last good checkpoint. */
  readonly unsavedSeconds: number | null;
  /** Those seconds, and those of the restart where they are known, times the accelerators. */
  readonly acceleratorSeconds: number | null;
  /** With unknown saves: the loss if the gang has saved nothing since its pods started. */
  readonly atMostAcceleratorSeconds: number | null;
  readonly restartSeconds: number | null;
  readonly saveSeconds: number | null;
  /** When the next save is due by its interval. */
  readonly nextSaveMs: number | null;
  readonly source: SaveRecord['source'] | null;
  /** It is a service: it has no training progress. */
  readonly isService: boolean;
}

/** Finds what each gang would lose. */
export class Losses {
  /** The first run of each workload: a large cluster has thousands of them. */
  readonly #runs = new Map<string, KubeObject>();
  readonly #groups: ReadonlyMap<string, KubeObject>;
  readonly #nowMs: number;
  readonly #known = new Map<string, LostWork>();

  constructor(objects: readonly KubeObject[], nowMs: number) {
    for (const run of objects) {
      if (run.kind !== 'TrainingRun') continue;
      const workload = workloadOfRun(run);
      if (!this.#runs.has(workload)) this.#runs.set(workload, run);
    }
    this.#groups = new Map(
      objects.filter(({ kind }) => kind === 'PodGroup').map((group) => [`${group.namespace ?? 'default'}/${group.name}`, group]),
    );
    this.#nowMs = nowMs;
  }

  of(gang: Gang): LostWork {
    const known = this.#known.get(gang.key);
    if (known !== undefined) return known;
    const found = lostWork(gang, this.#recordOf(gang), this.#nowMs);
    this.#known.set(gang.key, found);
    return found;
  }

  /** Whether Holdfast’s operator looks after the gang. */
  isSupervised(gang: Gang): boolean {
    return this.#runOf(gang) !== null;
  }

  #runOf(gang: Gang): KubeObject | null {
    return this.#runs.get(`${gang.kind}/${gang.namespace}/${gang.name}`) ?? null;
  }

  #recordOf(gang: Gang): SaveRecord | null {
    const run = this.#runOf(gang);
    const group = this.#groups.get(`${gang.namespace}/${gang.name}`);
    const annotated = [...(gang.object === null ? [] : [gang.object]), ...(group === undefined ? [] : [group]), ...gang.pods];
    return mergedRecord([...(run === null ? [] : [recordOfRun(run)]), ...annotated.map(recordOfAnnotations)]);
  }
}

/** Clocks differ by less than this; a save that is further ahead was not made at that time. */
const MOST_SKEW_MS = 5 * 60_000;
const NO_RECORD = { restartSeconds: null, saveSeconds: null, source: null } as const;

function lostWork(gang: Gang, record: SaveRecord | null, nowMs: number): LostWork {
  const accelerators = gangAccelerators(gang);
  const startedMs = startOf(gang);
  const { restartSeconds, saveSeconds, source } = record ?? NO_RECORD;
  const common = { accelerators, startedMs, isService: gang.isService, restartSeconds, saveSeconds, source };
  if (record === null || gang.isService || (record.unsavedSinceMs ?? 0) > nowMs + MOST_SKEW_MS) {
    const atMost = gang.isService || startedMs === null ? null : accelerators * secondsSince(startedMs, nowMs);
    return { ...common, unsavedSeconds: null, acceleratorSeconds: null, atMostAcceleratorSeconds: atMost, nextSaveMs: null };
  }
  // A gang that started after its last seal has worked only since its start.
  const sinceMs = Math.max(record.unsavedSinceMs ?? 0, startedMs ?? 0);
  const unsavedSeconds = secondsSince(sinceMs, nowMs);
  return {
    ...common,
    unsavedSeconds,
    acceleratorSeconds: (unsavedSeconds + (restartSeconds ?? 0)) * accelerators,
    atMostAcceleratorSeconds: null,
    nextSaveMs: nextSave(sinceMs, record.saveEverySeconds, nowMs),
  };
}

function secondsSince(sinceMs: number, nowMs: number): number {
  return Math.max(0, nowMs - sinceMs) / 1000;
}

function nextSave(sinceMs: number, everySeconds: number | null, nowMs: number): number | null {
  if (everySeconds === null || everySeconds <= 0) return null;
  const everyMs = 1000 * everySeconds;
  return sinceMs + Math.max(1, Math.ceil((nowMs - sinceMs) / everyMs)) * everyMs;
}

/** When the first pod of the gang’s present life started. */
function startOf({ pods }: Gang): number | null {
  const starts = pods.flatMap(({ fields, createdMs }) => timeAt(fields, 'status', 'startTime') ?? createdMs ?? []);
  return starts.length === 0 ? null : Math.min(...starts);
}

/** Accelerator-seconds by which answers are ranked: what is unknown counts as much as it can be. */
export function worstCost({ isService, acceleratorSeconds, atMostAcceleratorSeconds }: LostWork): number {
  if (isService) return 0;
  return acceleratorSeconds ?? atMostAcceleratorSeconds ?? Number.POSITIVE_INFINITY;
}
