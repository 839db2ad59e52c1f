import type { Clock } from '../core/clock.ts';
import { unattachedSentence, USUAL_ATTACH_MS } from '../domain/attachment.ts';
import type { Book } from './book.ts';
import type { Life } from './life.ts';

interface AttachWatch {
  readonly life: Pick<Life, 'worldSize'>;
  readonly isWatched: boolean;
  readonly clock: Clock;
  readonly book: Pick<Book, 'warn'>;
  readonly signal: AbortSignal;
}

/** Tells once when a trainer has run for a while and nobody has attached who could save, unless `signal` is aborted before. */
export async function watchUnattached({ life, isWatched, clock, book, signal }: AttachWatch): Promise<void> {
  const startedMs = clock.monotonic();
  try {
    await clock.sleep(USUAL_ATTACH_MS, { signal });
  } catch {
    return;
  }
  // A timer may be early by a part of a millisecond.
  const ranForMs = Math.max(USUAL_ATTACH_MS, clock.monotonic() - startedMs);
  const sentence = unattachedSentence({ ranForMs, hasAttached: life.worldSize !== null, isWatched });
  if (sentence !== null) book.warn(sentence);
}
