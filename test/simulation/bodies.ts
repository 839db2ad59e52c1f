import type { JobShape } from './job-shapes.ts';

/** What a death costs, by the rules of the documentation, and not by the code under test. */
export type InjuryKind = 'interruption' | 'doubt' | 'wait' | 'unusable' | 'error' | 'late';

/** Something that really happened to a pod, and after which its attempt may end. */
export interface Injury {
  readonly kind: InjuryKind;
  readonly exitCode: number | null;
  /** The causes that the operator may find for it. */
  readonly causes: readonly string[];
  /** Which of the last lines of a log the trainer left. */
  readonly line: number;
}

/** The container of a pod, as it really is. What the API server shows may lag behind. */
export interface Body {
  readonly uid: string;
  readonly name: string;
  readonly jobUid: string;
  readonly attempt: number;
  readonly role: string;
  readonly index: number;
  /** The kubelet restarts the container in place when it fails. */
  readonly restartsInPlace: boolean;
  node: string | null;
  state: 'pending' | 'running' | 'ended';
  /** When its container ended for good; null: it has not. */
  endedMs: number | null;
  /** The object was removed without its kubelet, so that it may run beside its successor. */
  isForced: boolean;
  /** Its work is done: it trained to the end. */
  isFinished: boolean;
  /** It waits for an image that is never pulled. */
  isStuck: boolean;
  /** When the container ends after SIGTERM; null: it was not asked to. */
  stopsMs: number | null;
  restarts: number;
  readonly injuries: Injury[];
  /** Whether the operator has charged the budgets for it. */
  isCharged: boolean;
}

/** A job, with what its trainer really did. */
export interface TrueJob {
  readonly uid: string;
  readonly name: string;
  readonly shape: JobShape;
  step: number;
  lastGoodStep: number;
  /** It was suspended at some time since the last attempt began. */
  wasSuspended: boolean;
  isDeleted: boolean;
}

/** The place of a body, as the operator names its pod. */
export function isSupervised({ shape }: Pick<TrueJob, 'shape'>): boolean {
  return JSON.stringify(shape.spec).includes('holdfast-run');
}
