import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { type Admission, admitSave } from '../../volumes/admission.ts';
import { limitsOf } from '../../volumes/limits.ts';
import { evictionLineWish } from '../../volumes/save-settings.ts';
import { describeStorage, type Storage } from '../../volumes/storage.ts';
import type { SealedFile } from '../../seal/manifest.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { missingBytes } from './fetch-file.ts';

/** What a fetch wants to write, and where. */
export interface FetchDemand {
  /** The files to write, without those that are already in place. */
  readonly files: readonly SealedFile[];
  /** The folder where an earlier run may have left some of these files. */
  readonly data: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Describes the storage under the run's folder; a test may replace it. */
  readonly storageOf?: (path: string) => Storage;
}

/** The size of a block in `lstat`, whatever unit the file system counts in. */
const STAT_BLOCK_BYTES = 512;
/** The manifest and the folders count as files, too. */
const MORE_FILES = 4;

/**
 * Checks before the first byte whether the fetch fits above the kubelet's eviction line and within
 * the pod's limit. To make room, it removes only what dead processes have left.
 */
export async function admitFetch(store: OpenStore, demand: FetchDemand): Promise<void> {
  const missing = demand.files.map((file) => missingOf(join(demand.data, file.path), file));
  if (admit(store, demand, missing).kind === 'fits') return;
  // Loaded late, because it pulls in all code about checkpoints and only a full volume needs it.
  const { tidyUp } = await import('../../store/retention/prune.ts');
  await tidyUp(store, { signal: demand.signal, spared: dirname(demand.data) });
  if (admit(store, demand, missing).kind !== 'refused') return;
  const admission = admit(store, demand, await missingAsRead(store.path, demand, missing));
  if (admission.kind !== 'refused') return;
  throw new HoldfastError('SAVE_DOES_NOT_FIT', {
    message: `nothing was fetched into ${printable(store.path)}: ${admission.message}`,
    hint: 'Everything there is unchanged. Keep fewer (holdfast prune), or fetch into a larger volume. holdfast probe PATH shows the room.',
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

/**
 * What a file still needs on disk. Ranges arrive in any order, and the holes between them take no
 * room.
 */
function missingOf(path: string, { size }: SealedFile): Missing {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return { isThere: stat !== undefined, bytes: Math.max(0, size - (stat?.blocks ?? 0) * STAT_BLOCK_BYTES) };
}

/**
 * The exact need, by reading the files. On a compressing file system all bytes may be there in
 * fewer blocks.
 */
async function missingAsRead(run: string, { files, data, signal }: FetchDemand, known: readonly Missing[]): Promise<readonly Missing[]> {
  const missing: Missing[] = [];
  for (const [index, file] of files.entries()) {
    const { isThere, bytes } = known[index] ?? { isThere: false, bytes: file.size };
    const unread = isThere && bytes > 0 ? await missingBytes(run, join(data, file.path), file, signal) : bytes;
    missing.push({ isThere, bytes: Math.min(bytes, unread) });
  }
  return missing;
}
