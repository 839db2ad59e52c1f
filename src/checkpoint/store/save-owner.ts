import { join } from 'node:path';
import { newestAttempt } from './attempt.ts';
import { bury, emptyTrash } from './graves.ts';
import { at } from './layout.ts';
import { isDead } from './process-identity.ts';
import type { OpenStore } from './store.ts';
import { isCode } from './store-error.ts';

const MARK = 'owner-';

/** Marks a save in flight as this process's own. The mark need not be durable: after a crash of the machine its owner is another's. */
export function markOwner({ fs, owner }: OpenStore, folder: string): void {
  if (owner === null) return;
  try {
    fs.writeFile(join(folder, `${MARK}${owner}`), '');
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}

/**
 * Removes what saves of the newest attempt have left behind whose every owner is dead: nobody can finish them; and what dead processes were
 * about to delete. Those of processes that cannot be seen from here (another node, another container) stay until a newer attempt fences them, and so
 * does `joined`, of which the caller itself becomes an owner. Never fails: it only tidies up.
 */
export function sweepStaging(store: OpenStore, joined: string | null = null): void {
  for (const folder of stagedFolders(store)) {
    if (folder !== joined) quietly(() => sweepDead(store, folder));
  }
  quietly(() => emptyTrash(store));
}

function sweepDead(store: OpenStore, folder: string): void {
  const owners = store.fs.list(folder).filter((name) => name.startsWith(MARK));
  if (owners.length > 0 && owners.every((name) => isDead(name.slice(MARK.length), store.owner))) bury(store, folder);
}

function quietly(tidy: () => void): void {
  try {
    tidy();
  } catch {
    // Not a folder, or fenced meanwhile, or the volume has troubles that the save itself will tell.
  }
}

function stagedFolders(store: OpenStore): readonly string[] {
  try {
    const newest = newestAttempt(store);
    if (newest === null) return [];
    const staging = at.staging(store.path, newest.attempt);
    return store.fs.list(staging).map((save) => join(staging, save));
  } catch {
    return [];
  }
}
