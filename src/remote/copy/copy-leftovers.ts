import { HoldfastError } from '../../core/errors.ts';
import type { SealedCheckpoint } from '../../store/folder/scan.ts';
import type { ObjectStore } from '../backends/backend.ts';
import type { Claims } from '../claim/claims.ts';
import { type CopyPlace, keysOfCopies } from '../pointer/copy-name.ts';
import type { Journal } from './journal.ts';
import { fileKey } from '../backends/keys.ts';

/**
 * The age at which an upload below the prefix counts as abandoned, unless a journal here knows it.
 */
const ABANDONED_MS = 24 * 60 * 60_000;

/** Names the claim to send this checkpoint to this address, or to clean up after such an upload. */
export function claimOf(url: string, checkpoint: string): string {
  return `ship ${url}\n${checkpoint}`;
}

/** What the clean-up of abandoned uploads needs. */
export interface OrphanOptions {
  readonly remote: ObjectStore;
  readonly journal: Journal;
  readonly claims: Claims;
}

/** What the clean-up of abandoned uploads did. */
export interface CleanedUp {
  /** Uploads in progress that were removed. */
  readonly removed: number;
  /** Why others could not be removed; null when there was no problem. */
  readonly problem: string | null;
}

type CleanUpOptions = OrphanOptions & { readonly copy: CopyPlace };

/**
 * Removes the unfinished uploads of earlier runs that this run, which sends to `copy`, will not
 * resume. Uploads of live processes stay. A store that refuses the removal does not stop the copy:
 * the next run retries it.
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

/** Removes the uploads of one checkpoint; null while another process sends it. */
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
