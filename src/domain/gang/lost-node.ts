import { END_CAUSES, type EndCause } from '../causes/catalogue.ts';

/**
 * The longest time in which Kubernetes calls a silent node lost, by its defaults: 50 s of grace,
 * looked at every 5 s, and a margin for clocks.
 */
const DECLARED_WITHIN_MS = 60_000;
const SECOND = 1000;
/** How long after the loss of a node its pods are deleted without their kubelet. */
const FORCE_AFTER_MS = 20_000;

/** A pod that is to go, and whose node does not report. Times are milliseconds since 1970. */
export interface StrandedPod {
  /** When the loss of its node was noticed. */
  readonly lostMs: number;
  /** The store refuses what it writes later, because a newer attempt has begun. */
  readonly isFenced: boolean;
  /** The user allows it also where nothing fences the pod. */
  readonly isForceAllowed: boolean;
}

/**
 * When a pod on a lost node is deleted without its kubelet, which cannot act. Null: never, because
 * the pod may still run there, and nothing would keep its writes from those of its successor.
 */
export function forceAtMs({ lostMs, isFenced, isForceAllowed }: StrandedPod): number | null {
  return isFenced || isForceAllowed ? lostMs + FORCE_AFTER_MS : null;
}

/** The loss of a node, as the API server shows it. Times are milliseconds since 1970. */
export interface DeclaredLoss {
  /** When Kubernetes called the node lost: a while after its kubelet fell silent. */
  readonly declaredMs: number;
  /** The last report of its kubelet that the API server shows; null: unknown. */
  readonly heardMs: number | null;
}

/**
 * Whether a node that was declared lost was silent already when an attempt ended. Then its loss is
 * the cause: the peers of a lost pod often fail before Kubernetes calls its node lost.
 */
export function wasSilentAt(endedMs: number, { declaredMs, heardMs }: DeclaredLoss): boolean {
  return declaredMs - endedMs <= DECLARED_WITHIN_MS && (heardMs === null || heardMs <= endedMs);
}

/** When a pod failed, and when that is looked at. */
export interface SeenFailure {
  readonly failedMs: number;
  readonly nowMs: number;
}

/**
 * Until when it is open whether a failure follows from the loss of a node: some node of its peers
 * has not been heard of since. Null: it is settled, because all of them were heard of later, or
 * would have been declared lost by now. A failure in the far future, by the clock of its node, is
 * never open, so that nothing waits for long.
 */
export function openUntilMs({ failedMs, nowMs }: SeenFailure, heardMs: readonly number[]): number | null {
  const untilMs = failedMs + DECLARED_WITHIN_MS;
  if (nowMs >= untilMs || failedMs > nowMs + DECLARED_WITHIN_MS) return null;
  // The time of a failure has no fractions of a second, and that of a report has.
  return heardMs.some((ms) => ms < failedMs + SECOND) ? untilMs : null;
}

/**
 * Whether an end may turn out to be the work of a lost node: the program failed, or nobody knows
 * why. A limit of the manifest is reached with or without peers.
 */
export function mayFollowFromLoss(cause: EndCause): boolean {
  return END_CAUSES[cause].family === 'program' || cause === 'CANNOT_TELL';
}
