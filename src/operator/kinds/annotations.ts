/** The annotations of a job that change what the operator does. */
export const ANNOTATIONS = {
  restart: 'holdfast.dev/restart',
  running: 'holdfast.dev/running',
  trustExitZero: 'holdfast.dev/trust-exit-0',
  forceLostNodes: 'holdfast.dev/force-lost-nodes',
  startDeadline: 'holdfast.dev/start-deadline',
  placement: 'holdfast.dev/placement',
  spotPatience: 'holdfast.dev/spot-patience',
  extendBackoff: 'holdfast.dev/extend-backoff',
  supervise: 'holdfast.dev/supervise',
  dir: 'holdfast.dev/dir',
  watch: 'holdfast.dev/watch',
  ship: 'holdfast.dev/ship',
  again: 'holdfast.dev/again',
  minRuntime: 'holdfast.dev/min-runtime',
  nativeGang: 'holdfast.dev/native-gang',
  maySuspend: 'holdfast.dev/may-suspend',
} as const;

/** The annotations by which a pod asks for room. */
export const ROOM_ANNOTATIONS = {
  /** `true`: gangs of lower priority may be asked to save and leave for this pod. */
  asks: 'holdfast.dev/make-room',
  /** How long a gang may take to save. */
  deadline: 'holdfast.dev/make-room-deadline',
  /** The decision of the operator: the node, and the TrainingRuns of the gangs that leave. */
  plan: 'holdfast.dev/making-room',
} as const;

/**
 * The annotation of a Job that the operator has suspended to make room: the pod that it made room
 * for. Without it, the operator does not resume the Job.
 */
export const SUSPENDED_FOR = 'holdfast.dev/suspended-for';

/** The annotations on the pods of a gang that is asked to save. */
export const ASK_ANNOTATIONS = {
  /** The supervisor reads it through the downward API. */
  notice: 'holdfast.dev/notice',
  /** The operator takes back the notices that it gave itself, and no others. */
  from: 'holdfast.dev/notice-from',
} as const;
/** The value of {@link ASK_ANNOTATIONS}`.from`. */
export const ASKED_BY = 'make-room';

/** The annotations of a PodGroup that say what a preemption of the gang would lose. */
export const LOSS_ANNOTATIONS = {
  lastSealed: 'holdfast.dev/last-sealed',
  unsaved: 'holdfast.dev/unsaved-accelerator-seconds',
  save: 'holdfast.dev/save-seconds',
} as const;
