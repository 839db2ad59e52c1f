import type { CauseKind } from './cause-kind.ts';

/**
 * The causes in the program or its manifest, the causes of pods that never ran, and the answers
 * that are not causes.
 */
export const PROGRAM_CAUSES = {
  TRAINER_FAILED: {
    family: 'program',
    title: 'the trainer failed by itself',
    explain:
      'The trainer exited with its own error, and nothing had asked it to stop: an exception, a wrong argument or missing data. Its log has the details (`kubectl logs POD`, with --previous after a restart of the container).',
  },
  TRAINER_CRASHED: {
    family: 'program',
    title: 'the trainer crashed with a signal it raised itself',
    explain:
      'A segmentation fault, an abort or a bus error: native code of the trainer, its drivers or its libraries failed. A bus error (135) in a data loader usually means that /dev/shm is too small.',
  },
  TRAINER_HUNG: {
    family: 'program',
    title: 'the trainer hung, and the supervisor ended it',
    explain:
      'The trainer finished no step for many times the usual length of one, and the supervisor ended it. The stacks of its ranks are in its output. The usual reason is a collective that waits for a lost rank.',
  },
  PROBE_FAILED: {
    family: 'program',
    title: 'ended by its kubelet because its liveness or startup probe failed',
    explain:
      'The container did not answer the kubelet’s probe in time, and the kubelet ended it with its grace. If the training process answers the probe, the probe fails during a long save or compilation. Raise failureThreshold × periodSeconds above the longest save, or remove the probe and let `holdfast run` watch the steps.',
  },
  SUPERVISOR_REFUSED: {
    family: 'program',
    title: 'the supervisor refused to start or to continue',
    explain:
      '`holdfast run` ended with a code of its own: the command line (64), no usable checkpoint (65), a path (66), a newer attempt that took over (5), storage (73, 75), or a missing program (126, 127). The termination message and the log say which; `holdfast help exit-codes` lists them.',
  },
  IMAGE_NOT_PULLED: {
    family: 'never-ran',
    title: 'never ran: its image cannot be pulled',
    explain:
      'The node cannot pull the image: a wrong name or tag, no credentials for the registry, or a registry that is unreachable or limits pulls. Kubernetes retries for ever, and nothing trains meanwhile.',
  },
  CONTAINER_NOT_STARTED: {
    family: 'never-ran',
    title: 'never ran: its container could not be started',
    explain:
      'The runtime could not start the container: a missing ConfigMap or Secret, a program that is not in the image, or a refused mount. The container’s message has the details.',
  },
  POD_REJECTED: {
    family: 'never-ran',
    title: 'never ran: its kubelet rejected it',
    explain:
      'The scheduler had placed the pod, and the kubelet refused it: the node was under pressure, shutting down, or lacked a requested resource. Nothing ran, there is no exit code and no condition DisruptionTarget, but a Job counts it as a failure. A kubelet that restarts on a node under pressure refuses running pods in the same way.',
  },
  POD_UNSCHEDULABLE: {
    family: 'never-ran',
    title: 'never ran: no node fits it',
    explain:
      'The scheduler finds no node: too few resources, taints, selectors, or volumes in another zone. The condition PodScheduled lists the reasons per node.',
  },
  FINISHED: {
    family: 'none',
    title: 'not interrupted: it finished',
    explain: 'The pod exited with code 0, and nothing shows that it was asked to stop before.',
  },
  STILL_RUNNING: {
    family: 'none',
    title: 'not interrupted: it is running',
    explain: 'The pod has not ended, and nothing has asked it to stop.',
  },
  CANNOT_TELL: {
    family: 'none',
    title: 'unknown: the remaining evidence fits several causes',
    explain:
      'The remaining evidence fits several causes. The condition DisruptionTarget, the events (kept for an hour by default) or a ledger would have shown the cause; the answer names what is missing. An exit code of 137 alone only proves a SIGKILL. The kernel, the kubelet at the end of the grace, the runtime or a person with a shell may have sent it. Holdfast reports an out-of-memory kill only if the runtime did.',
  },
} as const satisfies Readonly<Record<string, CauseKind>>;
