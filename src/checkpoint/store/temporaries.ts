import { join } from 'node:path';
import { attemptNumbers } from './attempt.ts';
import { removeTree } from './delete-tree.ts';
import type { DurableFs } from './durable-fs.ts';
import { bury } from './graves.ts';
import { at } from './layout.ts';
import type { Store } from './store.ts';

/**
 * What is made under a temporary name is renamed within moments. A day later whoever made it is gone; one who was stopped for so long fails at its rename, and nothing else
 * happens: until then nobody counts on it.
 */
const ABANDONED_MS = 24 * 60 * 60_000;

/** Names in which the id is one that only we make: nobody else's file is ever taken for ours. */
const ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const FOLDER = new RegExp(`^\\.tmp-${ID}$`);
const FILE = new RegExp(`^.*\\.${ID}\\.tmp$`, 's');
const PIN = new RegExp(`^\\.${ID}\\.tmp$`);
const STORE = new RegExp(`^\\.tmp-holdfast-${ID}$`);

/** What was received of a copy, named by the digest of its save; who fetches the same again goes on with it. */
const RECEIVED = /^[0-9a-f]{40}$/;

/** So many of the newest attempts are looked into; older ones publish nothing any more. */
const MOST_ATTEMPTS = 10;

/** Removes what killed processes had begun to make in a run's folder, but not what is `spared`, with which somebody goes on now. Never fails: it only tidies up. */
export function sweepTemporaries(store: Store, spared?: string): void {
  const { path } = store;
  for (const [folder, pattern] of [
    [path, STORE],
    [at.store(path), FILE],
    [at.store(path, 'attempts'), FOLDER],
    [at.store(path, 'quarantine'), FOLDER],
    // A pin is called like a checkpoint, which may be called anything.
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

/** As large as a checkpoint, and nobody may ever ask for that one again: newer copies come. Whoever receives writes all the time. */
function sweepReceived(store: Store, folder: string): void {
  quietly(() => {
    if (store.clock.now() - youngestMs(store.fs, folder) > ABANDONED_MS) bury(store, folder);
  });
}

/** When something in a folder was last written. */
function youngestMs(fs: DurableFs, path: string): number {
  const stat = fs.stat(path);
  if (stat?.kind !== 'folder') return stat?.mtimeMs ?? 0;
  return fs.list(path).reduce((latest, name) => Math.max(latest, youngestMs(fs, join(path, name))), stat.mtimeMs);
}

function quietly(tidy: () => void): void {
  try {
    tidy();
  } catch {
    // Somebody else was quicker, or the volume has troubles that the work itself will tell.
  }
}
