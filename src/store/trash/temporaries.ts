import { join } from 'node:path';
import { attemptNumbers } from '../attempt/attempt.ts';
import { removeTree } from '../disk/delete-tree.ts';
import type { DurableFs } from '../disk/durable-fs.ts';
import { discardFolder } from './trash.ts';
import { at } from '../../seal/names.ts';
import type { Store } from '../folder/store.ts';

/**
 * How old a temporary must be before prune removes it. A writer renames it within moments, so after
 * a day the writer is dead. A writer that was stopped for a day fails at its rename, which is safe:
 * no process relies on the file before.
 */
const ABANDONED_MS = 24 * 60 * 60_000;

/** Patterns with an id that only Holdfast makes, so that files of other tools never match. */
const ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const FOLDER = new RegExp(`^\\.tmp-${ID}$`);
const FILE = new RegExp(`^.*\\.${ID}\\.tmp$`, 's');
const PIN = new RegExp(`^\\.${ID}\\.tmp$`);
const STORE = new RegExp(`^\\.tmp-holdfast-${ID}$`);

/** A partial copy, named by the digest of its save; a fetch of the same save resumes it. */
const RECEIVED = /^[0-9a-f]{40}$/;

/** How many of the newest attempts are searched; older ones publish nothing any more. */
const MOST_ATTEMPTS = 10;

/**
 * Removes unfinished files of killed processes from a run's folder, except the `spared` folder that
 * the caller resumes. Never fails: it only tidies up.
 */
export function sweepTemporaries(store: Store, spared?: string): void {
  const { path } = store;
  for (const [folder, pattern] of [
    [path, STORE],
    [at.store(path), FILE],
    [at.store(path, 'attempts'), FOLDER],
    [at.store(path, 'quarantine'), FOLDER],
    // A pin has the name of its checkpoint, which may be any name.
    [at.store(path, 'pins'), PIN],
    ...newestAttempts(store).map((attempt) => [at.attempt(path, attempt), FILE] as const),
  ] as const) {
    for (const name of namesIn(store, folder)) if (pattern.test(name)) sweep(store, join(folder, name));
  }
  const fetching = at.store(path, 'fetching');
  const received = namesIn(store, fetching).filter((name) => RECEIVED.test(name));
  for (const folder of received.map((name) => join(fetching, name))) if (folder !== spared) sweepReceived(store, folder);
}

function newestAttempts(store: Store): readonly number[] {
  try {
    return attemptNumbers(store).slice(-MOST_ATTEMPTS);
  } catch {
    return [];
  }
}

function namesIn({ fs }: Store, folder: string): readonly string[] {
  try {
    return fs.list(folder);
  } catch {
    return [];
  }
}

function sweep({ fs, clock }: Store, path: string): void {
  quietly(() => {
    const stat = fs.stat(path);
    if (stat !== null && clock.now() - stat.mtimeMs > ABANDONED_MS) removeTree(fs, path);
  });
}

/**
 * A partial copy is as large as a checkpoint, and may never be requested again because newer copies
 * exist. A live fetch writes all the time.
 */
function sweepReceived(store: Store, folder: string): void {
  quietly(() => {
    if (store.clock.now() - youngestMs(store.fs, folder) > ABANDONED_MS) discardFolder(store, folder);
  });
}

/** Returns when something in a folder was last written. */
function youngestMs(fs: DurableFs, path: string): number {
  const stat = fs.stat(path);
  if (stat?.kind !== 'folder') return stat?.mtimeMs ?? 0;
  return fs.list(path).reduce((latest, name) => Math.max(latest, youngestMs(fs, join(path, name))), stat.mtimeMs);
}

function quietly(tidy: () => void): void {
  try {
    tidy();
  } catch {
    // Another process was quicker, or the volume has errors that the work itself will report.
  }
}
