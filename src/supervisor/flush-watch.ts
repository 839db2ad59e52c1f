import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenStore } from '../checkpoint/store/store.ts';
import { decideAbandon, decideBusy } from '../domain/flush-decision.ts';
import type { Book } from './book.ts';
import type { Life } from './life.ts';
import type { Notices } from './notices.ts';

export interface FlushWatch {
  readonly life: {
    readonly desk: Pick<Life['desk'], 'progress'>;
    readonly measured: Pick<Life['measured'], 'lastBytes' | 'write' | 'seal' | 'busyMs'>;
  };
  readonly store: Pick<OpenStore, 'clock'>;
  readonly notices: Pick<Notices, 'deadline'>;
  readonly book: Pick<Book, 'say' | 'record'>;
  readonly signal: AbortSignal;
  /** How many bytes lie in a folder. */
  readonly weigh?: (folder: string) => Promise<number>;
}

/** When the folder that the ranks write into was last seen empty; of the monotonic clock. */
interface Empty {
  readonly folder: string;
  readonly atMs: number;
}

const LOOK_MS = 100;
/** A trainer may think for a while before its first bytes: the speed of so few says nothing. */
const LEAST_SHARE = 0.05;

/**
 * Resolves when the save that goes on cannot be sealed in time at the speed seen so far, or was not begun by a busy trainer when it would have to be, and
 * has said so: what is left of the grace is then for
 * ending well. Rejects when `signal` is aborted.
 */
export async function untilHopeless(watch: FlushWatch): Promise<void> {
  const { store, book, signal } = watch;
  let empty = null as Empty | null;
  for (;;) {
    await store.clock.sleep(LOOK_MS, { signal });
    const seen = await look(watch);
    // Ranks wait for each other before the first byte, which says nothing about how fast they write.
    if (seen !== null && seen.folder !== null && seen.bytesDone === 0) empty = { folder: seen.folder, atMs: store.clock.monotonic() };
    const sentence = seen === null ? judgeBusy(watch) : judge(watch, seen, empty?.folder === seen.folder ? empty.atMs : seen.sinceMs);
    if (sentence === null) continue;
    book.say(sentence);
    book.record({ kind: 'note', level: 'warning', code: null, sentence });
    return;
  }
}

interface Seen {
  /** Where the ranks write; null: it is being sealed. */
  readonly folder: string | null;
  readonly sinceMs: number;
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

/** How far the save that goes on has come; null when none does. */
async function look({ life: { desk, measured }, weigh = bytesBelow }: FlushWatch): Promise<Seen | null> {
  const { progress } = desk;
  if (progress === null) return null;
  const { sinceMs } = progress;
  if (progress.kind === 'sealing') return { folder: null, sinceMs, bytesDone: progress.done, bytesTotal: progress.total };
  return { folder: progress.folder, sinceMs, bytesDone: await weigh(progress.folder), bytesTotal: measured.lastBytes ?? 0 };
}

/** Why a trainer that has begun no save is not waited for, or null. */
function judgeBusy({ life: { measured }, store, notices: { deadline } }: FlushWatch): string | null {
  const busyMs = measured.busyMs(store.clock.monotonic());
  if (deadline === null || busyMs === null) return null;
  return decideBusy({ nowMs: store.clock.now(), deadlineMs: deadline.deadlineMs, busyMs, save: measured.write, seal: measured.seal });
}

/** Why it has to be given up, or null. */
function judge({ life, store, notices: { deadline } }: FlushWatch, seen: Seen, sinceMs: number): string | null {
  const { bytesDone, bytesTotal } = seen;
  const isSealing = seen.folder === null;
  if (deadline === null || bytesTotal <= 0 || (!isSealing && bytesDone < bytesTotal * LEAST_SHARE)) return null;
  const nowMs = store.clock.now();
  const startedMs = nowMs - (store.clock.monotonic() - sinceMs);
  const afterMs = isSealing ? 0 : (life.measured.seal?.p95Ms ?? 0);
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
