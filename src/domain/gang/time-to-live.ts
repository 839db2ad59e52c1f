/**
 * When a finished job is deleted (`ttlSecondsAfterFinished`), in milliseconds since 1970; null:
 * never. A suspended job is kept.
 */
export function expiryMs(job: {
  readonly completedMs: number | null;
  readonly seconds: number | null;
  readonly isSuspended: boolean;
}): number | null {
  const { completedMs, seconds, isSuspended } = job;
  return completedMs === null || seconds === null || isSuspended ? null : completedMs + seconds * 1000;
}
