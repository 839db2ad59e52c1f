import { HoldfastError } from '../../core/errors.ts';
import type { SealedCheckpoint } from '../store/scan.ts';
import type { ObjectStore } from './backend.ts';
import type { Claims } from './claim/claims.ts';
import { type CopyPlace, keysOfCopies } from './copy-name.ts';
import type { Journal } from './journal.ts';
import { fileKey } from './keys.ts';

/** Uploads below the prefix that were begun this long ago, and that no journal here knows, are nobody's. */
const ABANDONED_MS = 24 * 60 * 60_000;

/** What one process at a time may do: send this checkpoint to this address, or clean up after one that was sending it. */
export function claimOf(url: string, checkpoint: string): string {
  return `ship ${url}\n${checkpoint}`;
}

export interface OrphanOptions {
  readonly remote: ObjectStore;
  readonly journal: Journal;
  readonly claims: Claims;
}

export interface CleanedUp {
  /** Beginnings of uploads that were removed. */
  readonly removed: number;
  /** Why others could not be; null when nothing was in the way. */
  readonly problem: string | null;
}

type CleanUpOptions = OrphanOptions & { readonly copy: CopyPlace };

/**
 * Removes what earlier runs began and this one, whose objects go to `copy`, will not go on with; what a process that lives is sending stays. A store that does not
 * let it be removed is no reason not to send: the next one tries it again.
 */
export async function removeOrphans(
  checkpoint: SealedCheckpoint,
  options: CleanUpOptions & { readonly signal: AbortSignal },
): Promise<CleanedUp> {
  let removed = 0;
  try {
    for await (const count of cleanUp(checkpoint, options)) removed += count;
    return { removed, problem: null };
  } catch (thrown) {
    options.signal.throwIfAborted();
    if (!(thrown instanceof HoldfastError)) throw thrown;
    return { removed, problem: thrown.message };
  }
}

async function* cleanUp({ name, manifest }: SealedCheckpoint, options: CleanUpOptions): AsyncGenerator<number> {
  const { remote, journal, copy } = options;
  const ours = new Set(manifest.files.map(({ path }) => fileKey(copy.name, copy.kind, path)));
  const spared = new Set(ours);
  for (const [checkpoint, keys] of Map.groupBy(journal.open(), ({ of }) => of)) {
    const left = keys.map(({ key }) => key).filter((key) => !ours.has(key));
    const removed = checkpoint === name ? await removeBegun(left, options) : await removeOf(checkpoint, left, options);
    if (removed === null) for (const key of left) spared.add(key);
    else yield removed;
  }
  yield await remote.removeOldUploads(ABANDONED_MS, spared, keysOfCopies(remote));
}

/** Null when somebody is sending that checkpoint right now. */
async function removeOf(checkpoint: string, keys: readonly string[], options: OrphanOptions): Promise<number | null> {
  const claim = options.claims.tryTake(claimOf(options.remote.url, checkpoint));
  if (claim === null) return null;
  try {
    return await removeBegun(keys, options);
  } finally {
    claim.release();
  }
}

async function removeBegun(keys: readonly string[], { remote, journal }: OrphanOptions): Promise<number> {
  let count = 0;
  for (const key of keys) {
    count += await remote.removeUploads(key);
    journal.end(key);
  }
  return count;
}
