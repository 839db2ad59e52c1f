import type { ApiObject } from '../../kube/api/api-object.ts';
import { at, listAt, mapAt, numberAt, textAt, timeAt } from '../../kube/objects/fields.ts';
import { ANNOTATIONS, SUSPENDED_FOR } from '../kinds/annotations.ts';
import { choicesOf } from '../kinds/choices.ts';

/** The label by which a Job of Kubernetes gets a TrainingRun. */
export const RUN_LABEL = 'holdfast.dev/run';

/** A Job of Kubernetes, which its own controller runs and the operator observes. */
export interface ObservedJob {
  readonly object: ApiObject;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The name of the container that trains: the first one. */
  readonly container: string;
  /** Each index is a run of its own, because each has a limit of its own. */
  readonly hasOwnIndexes: boolean;
  /** Its pods are one gang, and the pod of index 0 stands for all. */
  readonly isIndexed: boolean;
  /** How many pods train at the same time for one run. */
  readonly gangSize: number;
  readonly isSuspended: boolean;
  readonly backoffLimit: number;
  /** How many pods the Job controller has counted as failed. */
  readonly failed: number;
  readonly ended: JobEnd | null;
  /** Indexes that have ended, where each is a run of its own. */
  readonly endedIndexes: { readonly completed: readonly IndexRange[]; readonly failed: readonly IndexRange[] };
  readonly choices: {
    readonly trustsExitZero: boolean;
    readonly forcesLostNodes: boolean;
    readonly extendsBackoff: boolean;
    readonly maySuspend: boolean;
    readonly minRuntimeMs: number;
  };
  /** The operator has suspended it to make room. */
  readonly isSuspendedForRoom: boolean;
}

/** How a Job ended, by its own condition. */
export interface JobEnd {
  readonly isComplete: boolean;
  readonly atMs: number | null;
  readonly message: string | null;
}

/** The indexes from one to another, both included. */
export type IndexRange = readonly [number, number];

const DEFAULT_BACKOFF_LIMIT = 6;

/** Reads a Job. */
export function observedJobOf(object: ApiObject): ObservedJob {
  const isIndexed = textAt(object, 'spec', 'completionMode') === 'Indexed';
  const parallelism = numberAt(object, 'spec', 'parallelism') ?? 1;
  const completions = numberAt(object, 'spec', 'completions');
  const hasOwnIndexes = isIndexed && numberAt(object, 'spec', 'backoffLimitPerIndex') !== null;
  const annotations = mapAt(object, 'metadata', 'annotations');
  const isSet = (name: keyof typeof ANNOTATIONS): boolean => annotations.get(ANNOTATIONS[name]) === 'true';
  const { name, uid, namespace = '' } = object.metadata;
  const { maySuspend, minRuntimeMs } = choicesOf(object.metadata.annotations ?? {});
  return {
    object,
    namespace,
    name,
    uid,
    container: textAt(listAt(object, 'spec', 'template', 'spec', 'containers')[0], 'name') ?? '',
    hasOwnIndexes,
    isIndexed,
    gangSize: hasOwnIndexes ? 1 : Math.min(parallelism, completions ?? parallelism),
    isSuspended: at(object, 'spec', 'suspend') === true,
    backoffLimit: numberAt(object, 'spec', 'backoffLimit') ?? DEFAULT_BACKOFF_LIMIT,
    failed: numberAt(object, 'status', 'failed') ?? 0,
    ended: endOf(object),
    endedIndexes: {
      completed: rangesOf(textAt(object, 'status', 'completedIndexes') ?? ''),
      failed: rangesOf(textAt(object, 'status', 'failedIndexes') ?? ''),
    },
    choices: {
      trustsExitZero: isSet('trustExitZero'),
      forcesLostNodes: isSet('forceLostNodes'),
      extendsBackoff: isSet('extendBackoff'),
      maySuspend,
      minRuntimeMs,
    },
    isSuspendedForRoom: annotations.has(SUSPENDED_FOR),
  };
}

/** Why the Job cannot have a TrainingRun, in a sentence; null: it can. */
export function whyUnobservable({ isIndexed, gangSize }: ObservedJob): string | null {
  if (isIndexed || gangSize === 1) return null;
  return (
    `its ${gangSize} pods are not to be told apart, so that none stands for the run: set completionMode: Indexed, ` +
    `or remove the label ${RUN_LABEL}`
  );
}

/** Whether ranges hold an index. */
export function holdsIndex(ranges: readonly IndexRange[], index: number): boolean {
  return ranges.some(([first, last]) => first <= index && index <= last);
}

function endOf(object: ApiObject): JobEnd | null {
  for (const each of listAt(object, 'status', 'conditions')) {
    const type = textAt(each, 'type');
    if (textAt(each, 'status') !== 'True' || (type !== 'Complete' && type !== 'Failed')) continue;
    return { isComplete: type === 'Complete', atMs: timeAt(each, 'lastTransitionTime'), message: textAt(each, 'message') };
  }
  return null;
}

/** `0,2-4` in the status of a Job; what is no range is left out. */
function rangesOf(text: string): readonly IndexRange[] {
  return [...text.matchAll(/(?<=^|,)(\d{1,9})(?:-(\d{1,9}))?(?=,|$)/g)].map(([, first, last]) => [Number(first), Number(last ?? first)]);
}
