import type { SealedCheckpoint } from '../store/scan.ts';
import type { ObjectStore } from './backend.ts';
import type { Claims } from './claim/claims.ts';
import { type CopyPlace, isOfCopy } from './copy-name.ts';
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

/** Removes what earlier runs began and this one, whose objects go to `copy`, will not go on with; what a process that lives is sending stays. */
export async function removeOrphans(
  { name, manifest }: SealedCheckpoint,
  options: OrphanOptions & { readonly copy: CopyPlace },
): Promise<number> {
  const { remote, journal, copy } = options;
  const ours = new Set(manifest.files.map(({ path }) => fileKey(copy.name, copy.kind, path)));
  const spared = new Set(ours);
  let count = 0;
  for (const [checkpoint, keys] of Map.groupBy(journal.open(), ({ of }) => of)) {
    const left = keys.map(({ key }) => key).filter((key) => !ours.has(key));
    const removed = checkpoint === name ? await removeBegun(left, options) : await removeOf(checkpoint, left, options);
    if (removed === null) for (const key of left) spared.add(key);
    else count += removed;
  }
  return count + (await remote.removeOldUploads(ABANDONED_MS, spared, (key) => isOfCopy(remote, key)));
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
