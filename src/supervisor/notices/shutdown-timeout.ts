import type { Clock } from '../../core/clock.ts';
import type { Notices } from './notices.ts';

/** How long a disk that does not answer may delay the end, by default and at a deadline. */
const MOST_MS = 2000;
const LEAST_MS = 50;

/** How long the end waits for a thread or a sync that may never finish. */
export function shutdownTimeout({ deadline }: Pick<Notices, 'deadline'>, clock: Clock): number {
  const leftMs = deadline === null ? MOST_MS : deadline.deadlineMs - clock.now();
  return Math.max(LEAST_MS, Math.min(MOST_MS, leftMs));
}
