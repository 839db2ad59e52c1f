import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { type Admission, admitSave } from '../storage/admission.ts';
import { limitsOf } from '../storage/limits.ts';
import { evictionLineWish } from '../storage/save-settings.ts';
import { describeStorage, type Storage } from '../storage/storage.ts';
import type { SealedFile } from '../store/manifest.ts';
import type { OpenStore } from '../store/store.ts';
import { missingBytes } from './fetch-file.ts';

export interface FetchDemand {
  /** What is to be written; what lies elsewhere already is not among it. */
  readonly files: readonly SealedFile[];
  /** Where an earlier run may have left some of it, in a folder of its own. */
  readonly data: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Tells what lies under the run's folder now. */
  readonly storageOf?: (path: string) => Storage;
}

/** What a block is in `lstat`, whatever the file system counts in. */
const STAT_BLOCK_BYTES = 512;
/** Its manifest and its folders are files too. */
const MORE_FILES = 4;

/**
 * Asked before the first byte is received: does it fit, down to the kubelet's eviction line and within the pod's limit? Room is not made for it but by
 * removing what dead processes have left.
 */
export async function admitFetch(store: OpenStore, demand: FetchDemand): Promise<void> {
  const missing = demand.files.map((file) => missingOf(join(demand.data, file.path), file));
  if (admit(store, demand, missing).kind === 'fits') return;
  // With all it says about checkpoints: only who is short of room needs it.
  const { tidyUp } = await import('../store/prune.ts');
  await tidyUp(store, { signal: demand.signal, spared: dirname(demand.data) });
  if (admit(store, demand, missing).kind !== 'refused') return;
  const admission = admit(store, demand, await missingAsRead(demand, missing));
  if (admission.kind !== 'refused') return;
  throw new HoldfastError('SAVE_DOES_NOT_FIT', {
    message: `nothing was fetched into ${printable(store.path)}: ${admission.message}`,
    hint: 'Everything there is as it was. Keep fewer (holdfast prune), or fetch into a larger volume. holdfast probe PATH shows the room.',
  });
}

interface Missing {
  readonly isThere: boolean;
  readonly bytes: number;
}

function admit({ path }: OpenStore, { env = {}, storageOf = describeStorage }: FetchDemand, missing: readonly Missing[]): Admission {
  const storage = storageOf(path);
  const { evictionLine, ephemeral } = limitsOf(storage, evictionLineWish(env), env);
  return admitSave({
    what: 'the checkpoint',
    bytesNeeded: missing.reduce((sum, { bytes }) => sum + bytes, 0),
    filesNeeded: missing.filter(({ isThere }) => !isThere).length + MORE_FILES,
    space: storage.space,
    evictionLine,
    ephemeralLimit: ephemeral,
    reclaimable: { bytes: 0, files: 0 },
  });
}

/** What a file takes that it has not yet: ranges come in any order, and what lies between them takes no room. */
function missingOf(path: string, { size }: SealedFile): Missing {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return { isThere: stat !== undefined, bytes: Math.max(0, size - (stat?.blocks ?? 0) * STAT_BLOCK_BYTES) };
}

/** The same, for who has to be sure: on a file system that compresses, all bytes may be there in fewer blocks. */
async function missingAsRead({ files, data, signal }: FetchDemand, known: readonly Missing[]): Promise<readonly Missing[]> {
  const missing: Missing[] = [];
  for (const [index, file] of files.entries()) {
    const { isThere, bytes } = known[index] ?? { isThere: false, bytes: file.size };
    const unread = isThere && bytes > 0 ? await missingBytes(join(data, file.path), file, signal) : bytes;
    missing.push({ isThere, bytes: Math.min(bytes, unread) });
  }
  return missing;
}
