import type { QueueStatus } from '../../../queue/backend.ts';

/** The server’s answer about a queue. */
export interface StatusAnswer extends QueueStatus {
  /** Items that still need work. */
  readonly open: number;
}

/** Items that a person must look at. */
export function troubledItems({ counts }: StatusAnswer): number {
  return counts.failed + counts.aside + counts.cancelled;
}
