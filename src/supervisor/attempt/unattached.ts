import type { Clock } from '../../core/clock.ts';
import { unattachedSentence, USUAL_ATTACH_MS } from '../../domain/restart/attachment.ts';
import type { RunLog } from '../base/run-log.ts';
import type { TrainerSession } from '../session/trainer-session.ts';

interface AttachWatch {
  readonly session: Pick<TrainerSession, 'worldSize'>;
  readonly isWatched: boolean;
  readonly clock: Clock;
  readonly log: Pick<RunLog, 'warn'>;
  readonly signal: AbortSignal;
}

/**
 * Warns once when a trainer has run for a while and no rank has attached, unless `signal` is
 * aborted before.
 */
export async function watchUnattached({ session, isWatched, clock, log, signal }: AttachWatch): Promise<void> {
  const startedMs = clock.monotonic();
  try {
    await clock.sleep(USUAL_ATTACH_MS, { signal });
  } catch {
    return;
  }
  // A timer may fire a fraction of a millisecond early.
  const ranForMs = Math.max(USUAL_ATTACH_MS, clock.monotonic() - startedMs);
  const sentence = unattachedSentence({ ranForMs, hasAttached: session.worldSize !== null, isWatched });
  if (sentence !== null) log.warn(sentence);
}
