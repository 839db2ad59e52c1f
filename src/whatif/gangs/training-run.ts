import { at, listAt, numberAt, textAt, timeAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';

/** What is recorded of a gang’s saves. A field is null where it is not recorded. */
export interface SaveRecord {
  /** From when on work is unsaved: the last seal, or the start where nothing was sealed. */
  readonly unsavedSinceMs: number | null;
  readonly saveSeconds: number | null;
  readonly restartSeconds: number | null;
  readonly saveEverySeconds: number | null;
  readonly source: 'training-run' | 'annotation';
}

/** The workload of which a TrainingRun is the record: `PyTorchJob/ml/llama`. */
export function workloadOfRun({ fields, namespace }: KubeObject): string {
  const job = at(fields, 'spec', 'job');
  return `${textAt(job, 'kind') ?? ''}/${namespace ?? 'default'}/${textAt(job, 'name') ?? ''}`;
}

/** Reads the status of a TrainingRun, field by field. */
export function recordOfRun({ fields }: KubeObject): SaveRecord {
  const status = at(fields, 'status');
  const attempts = listAt(status, 'attempts');
  const current = attempts.find((each) => numberAt(each, 'number') === numberAt(status, 'attempt'));
  const sealedMs = timeAt(status, 'progress', 'sealedAt');
  // Progress was reported, and none of it is sealed.
  const isUnsealed = timeAt(status, 'progress', 'reportedAt') !== null && numberAt(status, 'progress', 'lastGoodStep') === null;
  return {
    unsavedSinceMs: sealedMs ?? (isUnsealed ? (timeAt(current, 'resumedAt') ?? timeAt(current, 'startedAt')) : null),
    saveSeconds: numberAt(status, 'progress', 'saveSeconds'),
    restartSeconds: restartSeconds(attempts),
    saveEverySeconds: null,
    source: 'training-run',
  };
}

/** From the notice of an attempt’s end to the first step of the next, where both are recorded. */
function restartSeconds(attempts: readonly unknown[]): number | null {
  const found = attempts.flatMap((each, index) => {
    const [endedMs, resumedMs] = [timeAt(attempts[index - 1], 'detectedAt'), timeAt(each, 'resumedAt')];
    return endedMs === null || resumedMs === null || resumedMs < endedMs ? [] : [(resumedMs - endedMs) / 1000];
  });
  return found.at(-1) ?? null;
}

const [LAST_SEALED, SAVE_SECONDS, RESTART_SECONDS, SAVE_EVERY] = [
  'holdfast.dev/last-sealed',
  'holdfast.dev/save-seconds',
  'holdfast.dev/restart-seconds',
  'holdfast.dev/save-every-seconds',
] as const;

/** Reads the annotations of a gang’s object, its PodGroup or one of its pods. */
export function recordOfAnnotations({ annotations }: KubeObject): SaveRecord {
  const seconds = (name: string): number | null => {
    const text = annotations.get(name);
    return text === undefined || !/^\d{1,9}(\.\d{1,6})?$/.test(text) ? null : Number(text);
  };
  return {
    unsavedSinceMs: timeAt({ at: annotations.get(LAST_SEALED) }, 'at'),
    saveSeconds: seconds(SAVE_SECONDS),
    restartSeconds: seconds(RESTART_SECONDS),
    saveEverySeconds: seconds(SAVE_EVERY),
    source: 'annotation',
  };
}

/** One record out of several: the newest seal, and of the other numbers the first known one. */
export function mergedRecord(records: readonly SaveRecord[]): SaveRecord | null {
  const first = (field: 'saveSeconds' | 'restartSeconds' | 'saveEverySeconds'): number | null =>
    records.find((each) => each[field] !== null)?.[field] ?? null;
  const sealed = records
    .filter(({ unsavedSinceMs }) => unsavedSinceMs !== null)
    .toSorted((a, b) => (b.unsavedSinceMs ?? 0) - (a.unsavedSinceMs ?? 0));
  const [newest] = sealed;
  if (newest === undefined) return null;
  return {
    ...newest,
    saveSeconds: first('saveSeconds'),
    restartSeconds: first('restartSeconds'),
    saveEverySeconds: first('saveEverySeconds'),
  };
}
