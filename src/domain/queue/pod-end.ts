/** The facts about a pod that tell what becomes of the leases of its workers. */
export interface PodFacts {
  /** The reason of its condition DisruptionTarget, or null. */
  readonly disruption: string | null;
  /** Its deletion was requested. */
  readonly isDeleting: boolean;
  /** Its containers have ended, or the API server no longer has it. */
  readonly hasEnded: boolean;
  /** The reason in its status, such as `NodeShutdown`, or null. */
  readonly reason: string | null;
  /** Its node is deleted, or its kubelet is no longer heard of. */
  readonly isNodeLost: boolean;
}

/** What the server does about the leases of a pod’s workers. */
export interface PodEnd {
  /** Explains the loss of the leases; null: nothing explains it. */
  readonly notice: string | null;
  /** The leases end now. */
  readonly isGone: boolean;
}

/**
 * Reasons in a pod’s status that are no fault of its worker. `Evicted` alone is not one of them: a
 * pod that exceeds a limit of its own is evicted as well.
 */
const INTERRUPTIONS: ReadonlySet<string> = new Set([
  'NodeShutdown',
  'Shutdown',
  'Terminated',
  'NodeLost',
  'Preempting',
  'DeadlineExceeded',
]);

/**
 * What a pod’s state means for its leases; null: it runs. A pod that is about to end keeps its
 * leases while its node is alive: its worker gets SIGTERM, commits what it has finished, and gives
 * back the rest itself.
 */
export function podEnd({ disruption, isDeleting, hasEnded, reason, isNodeLost }: PodFacts): PodEnd | null {
  const notice = noticeOf({ disruption, isDeleting, reason, isNodeLost });
  const isGone = hasEnded || isNodeLost;
  return notice === null && !isGone ? null : { notice, isGone };
}

function noticeOf({ disruption, isDeleting, reason, isNodeLost }: Omit<PodFacts, 'hasEnded'>): string | null {
  if (disruption !== null) return `DisruptionTarget/${disruption}`;
  if (isNodeLost) return 'the node of the pod is lost';
  if (isDeleting) return 'the pod was deleted';
  return reason !== null && INTERRUPTIONS.has(reason) ? `the pod ended with ${reason}` : null;
}
