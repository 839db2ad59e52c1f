import { publishDeadline as writeDeadline } from '../../store/attempt/attempt.ts';
import type { TrainerSession } from '../session/trainer-session.ts';
import type { SessionOptions } from '../session/session-options.ts';

interface Leaving extends Pick<SessionOptions, 'store' | 'attempt' | 'log'> {
  readonly session: Pick<TrainerSession, 'isDiskSilent'>;
}

/**
 * Tells the replacement of this attempt until when the attempt may still save; null: it is done.
 * This waits for the disk, unless the disk is known not to answer. A successor then uses the
 * deadline published before; without one it fences this attempt at once.
 */
export function publishDeadline({ session, store, attempt, log }: Leaving, deadlineMs: number | null): void {
  if (session.isDiskSilent) return;
  try {
    writeDeadline(store, attempt, deadlineMs);
  } catch (thrown) {
    log.complain(thrown);
  }
}
