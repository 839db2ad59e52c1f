import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenStore } from '../../store/folder/store.ts';
import { decideAbandon, decideBusy } from '../../domain/grace/flush-decision.ts';
import type { RunLog } from '../base/run-log.ts';
import type { TrainerSession } from '../session/trainer-session.ts';
import type { Notices } from '../notices/notices.ts';

/** What the watch over a flush looks at, and where it reports. */
export interface FlushWatch {
  readonly session: {
    readonly coordinator: Pick<TrainerSession['coordinator'], 'progress'>;
    readonly measured: Pick<TrainerSession['measured'], 'lastBytes' | 'write' | 'seal' | 'busyMs'>;
  };
  readonly store: Pick<OpenStore, 'clock'>;
  readonly notices: Pick<Notices, 'deadline'>;
  readonly log: Pick<RunLog, 'say' | 'record'>;
  readonly signal: AbortSignal;
  /** Resolves to the number of bytes in a folder. */
  readonly weigh?: (folder: string) => Promise<number>;
}

/** When the folder that the ranks write into was last seen empty, by the monotonic clock. */
interface Empty {
  readonly folder: string;
  readonly atMs: number;
}

const LOOK_MS = 100;
/**
 * The least share of the bytes that gives a speed: a trainer may think for a while before its first
 * bytes.
 */
const LEAST_SHARE = 0.05;

/**
 * Resolves, after a warning, when the current save can no longer be sealed in time. Either it is
 * too slow at the speed seen so far, or a busy trainer has not begun it in time. The rest of the
 * grace then goes to a clean exit. Rejects when `signal` is aborted.
 */
export async function untilHopeless(watch: FlushWatch): Promise<void> {
  const { store, log, signal } = watch;
  let empty = null as Empty | null;
  for (;;) {
    await store.clock.sleep(LOOK_MS, { signal });
    const seen = await look(watch);
    // Ranks wait for each other before the first byte, so that wait says nothing about their speed.
    if (seen !== null && seen.folder !== null && seen.bytesDone === 0) empty = { folder: seen.folder, atMs: store.clock.monotonic() };
    const sentence = seen === null ? judgeBusy(watch) : judge(watch, seen, empty?.folder === seen.folder ? empty.atMs : seen.sinceMs);
    if (sentence === null) continue;
    log.say(sentence);
    log.record({ kind: 'note', level: 'warning', code: null, sentence });
    return;
  }
}

interface Seen {
  /** The folder that the ranks write into; null: the save is being sealed. */
  readonly folder: string | null;
  readonly sinceMs: number;
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

/** How far the current save has come; null when there is none. */
async function look({ session: { coordinator, measured }, weigh = bytesBelow }: FlushWatch): Promise<Seen | null> {
  const { progress } = coordinator;
  if (progress === null) return null;
  const { sinceMs } = progress;
  if (progress.kind === 'sealing') return { folder: null, sinceMs, bytesDone: progress.done, bytesTotal: progress.total };
  return { folder: progress.folder, sinceMs, bytesDone: await weigh(progress.folder), bytesTotal: measured.lastBytes ?? 0 };
}

/** Why the supervisor stops waiting for a busy trainer that has begun no save, or null. */
function judgeBusy({ session: { measured }, store, notices: { deadline } }: FlushWatch): string | null {
  const busyMs = measured.busyMs(store.clock.monotonic());
  if (deadline === null || busyMs === null) return null;
  return decideBusy({ nowMs: store.clock.now(), deadlineMs: deadline.deadlineMs, busyMs, save: measured.write, seal: measured.seal });
}

/** Why the save has to be abandoned, or null. */
function judge({ session, store, notices: { deadline } }: FlushWatch, seen: Seen, sinceMs: number): string | null {
  const { bytesDone, bytesTotal } = seen;
  const isSealing = seen.folder === null;
  if (deadline === null || bytesTotal <= 0 || (!isSealing && bytesDone < bytesTotal * LEAST_SHARE)) return null;
  const nowMs = store.clock.now();
  const startedMs = nowMs - (store.clock.monotonic() - sinceMs);
  const afterMs = isSealing ? 0 : (session.measured.seal?.p95Ms ?? 0);
  const decision = decideAbandon({ nowMs, deadlineMs: deadline.deadlineMs, startedMs, bytesDone, bytesTotal, afterMs });
  return decision.abandon ? decision.sentence : null;
}

/** The bytes written so far; a folder that cannot be read counts as zero. */
async function bytesBelow(folder: string): Promise<number> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const sizes = entries.map(async (entry) => (entry.isFile() ? (await stat(join(entry.parentPath, entry.name))).size : 0));
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  } catch {
    return 0;
  }
}
