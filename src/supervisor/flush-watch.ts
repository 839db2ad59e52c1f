import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenStore } from '../checkpoint/store/store.ts';
import { decideAbandon } from '../domain/flush-decision.ts';
import type { Book } from './book.ts';
import type { Life } from './life.ts';
import type { Notices } from './notices.ts';

export interface FlushWatch {
  readonly life: Life;
  readonly store: OpenStore;
  readonly notices: Notices;
  readonly book: Book;
  readonly signal: AbortSignal;
}

const LOOK_MS = 100;
/** A trainer may think for a while before its first bytes: the speed of so few says nothing. */
const LEAST_SHARE = 0.05;

/**
 * Resolves when the save that goes on cannot be sealed in time at the speed seen so far, and has said so: what is left of the grace is then for
 * ending well. Rejects when `signal` is aborted.
 */
export async function untilHopeless(watch: FlushWatch): Promise<void> {
  const { store, book, signal } = watch;
  for (;;) {
    await store.clock.sleep(LOOK_MS, { signal });
    const sentence = await judge(watch);
    if (sentence === null) continue;
    book.say(sentence);
    book.record({ kind: 'note', level: 'warning', code: null, sentence });
    return;
  }
}

/** Why it has to be given up, or null. */
async function judge({ life, store, notices }: FlushWatch): Promise<string | null> {
  const { desk, measured } = life;
  const { deadline } = notices;
  const progress = desk.progress;
  if (deadline === null || progress === null) return null;
  const isSealing = progress.kind === 'sealing';
  const [bytesDone, bytesTotal] = isSealing
    ? [progress.done, progress.total]
    : [await bytesBelow(progress.folder), measured.lastBytes ?? 0];
  if (bytesTotal <= 0 || (!isSealing && bytesDone < bytesTotal * LEAST_SHARE)) return null;
  const nowMs = store.clock.now();
  const startedMs = nowMs - (store.clock.monotonic() - progress.sinceMs);
  const afterMs = isSealing ? 0 : (measured.seal?.p95Ms ?? 0);
  const decision = decideAbandon({ nowMs, deadlineMs: deadline.deadlineMs, startedMs, bytesDone, bytesTotal, afterMs });
  return decision.abandon ? decision.sentence : null;
}

/** What was written so far; what cannot be looked at counts as nothing. */
async function bytesBelow(folder: string): Promise<number> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const sizes = entries.map(async (entry) => (entry.isFile() ? (await stat(join(entry.parentPath, entry.name))).size : 0));
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  } catch {
    return 0;
  }
}
