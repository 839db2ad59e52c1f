import { join } from 'node:path';
import { newestAttempt } from '../attempt/attempt.ts';
import { discardFolder, emptyTrash } from './trash.ts';
import { at } from '../../seal/names.ts';
import { isDead } from '../disk/process-identity.ts';
import type { OpenStore } from '../folder/store.ts';
import { isCode } from '../disk/store-error.ts';

const MARK = 'owner-';

/**
 * Marks a save in flight as owned by this process. The mark need not be durable: after a crash of
 * the machine its owner is dead.
 */
export function markOwner({ fs, owner }: OpenStore, folder: string): void {
  if (owner === null) return;
  try {
    fs.writeFile(join(folder, `${MARK}${owner}`), '');
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}

/**
 * Removes saves of the newest attempt whose owners are all dead, and deletions that dead processes
 * left unfinished. No process can finish those saves. Saves of invisible processes (on another
 * node, in another container) stay until a newer attempt fences them. `joined` stays too, since the
 * caller becomes an owner of it. Never fails: it only tidies up.
 */
export function sweepStaging(store: OpenStore, joined: string | null = null): void {
  for (const folder of stagedFolders(store)) {
    if (folder !== joined) quietly(() => sweepDead(store, folder));
  }
  quietly(() => emptyTrash(store));
}

function sweepDead(store: OpenStore, folder: string): void {
  const owners = store.fs.list(folder).filter((name) => name.startsWith(MARK));
  if (owners.length > 0 && owners.every((name) => isDead(name.slice(MARK.length), store.owner))) discardFolder(store, folder);
}

function quietly(tidy: () => void): void {
  try {
    tidy();
  } catch {
    // It is no folder, or was fenced meanwhile, or the volume has errors that the save itself will
    // report.
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
