import { dirname } from 'node:path';
import type { EarlyChecksums } from '../../../store/disk/early-checksums.ts';
import { commitSave } from '../../../store/commit/commit.ts';
import { abandonSave, type Save, whyLost, writeReceipt } from '../../../store/commit/save.ts';
import type { OpenStore } from '../../../store/folder/store.ts';
import { storeError } from '../../../store/disk/store-error.ts';
import { savedFiles } from '../../../store/commit/saved-files.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { copyImage } from '../staging/copy-image.ts';
import type { SealedSave, Work } from './seal-messages.ts';
import { assertOneWriterEach } from './one-writer.ts';
import { lacksPlaceInData } from './place-in-data.ts';

/** How a save is sealed on the thread. */
export interface SealOptions {
  readonly signal: AbortSignal;
  readonly onBytes: (done: number, total: number) => void;
  /** Called once, right before the commit; false: the save was abandoned. */
  readonly mayCommit: () => boolean;
}

/**
 * Makes a checkpoint of the bytes that the ranks have handed over, and copies them out of memory if
 * they lie there. On failure the save's staging is removed, and everything earlier is unchanged.
 * The caller frees the memory.
 */
export async function sealSave(
  store: OpenStore,
  { save, image }: Work & { readonly kind: 'seal' },
  options: SealOptions,
): Promise<SealedSave> {
  const { clock, fs } = store;
  const { signal, onBytes } = options;
  const startedMs = clock.monotonic();
  let copiedMs: number | null = null;
  try {
    // A single rank can mix nothing, and it leaves no list.
    if (save.worldSize > 1) assertOneWriterEach(fs, { folder: image === null ? save.folder : dirname(image), data: image ?? save.data });
    const early = image === null ? null : await copyImage(fs, image, save.data, { signal, onBytes });
    if (early !== null) copiedMs = clock.monotonic();
    await writeReceipts(store, save, { signal, onBytes, early });
    if (!options.mayCommit()) throw new HoldfastError('SAVE_INCOMPLETE', { message: 'the save was abandoned' });
  } catch (thrown) {
    const error = whyLost(store, save, thrown) ?? storeError(thrown, 'seal', save.data);
    abandonSave(store, save);
    throw error;
  }
  const checksummedMs = clock.monotonic();
  const { name, path, manifest } = commitSave(store, save);
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  const phases = {
    copyMs: copiedMs === null ? null : copiedMs - startedMs,
    checksumMs: checksummedMs - (copiedMs ?? startedMs),
    commitMs: clock.monotonic() - checksummedMs,
  };
  return { name, path, bytes, phases, lacksPlaceInData: lacksPlaceInData(path, manifest.files) };
}

type ReceiptFacts = Omit<SealOptions, 'mayCommit'> & { readonly early: EarlyChecksums | null };

/**
 * All ranks have handed over, so no rank writes any more. The receipt of the first rank covers
 * every file; the others cover none.
 */
async function writeReceipts(store: OpenStore, save: Save, { early, ...rest }: ReceiptFacts): Promise<void> {
  const options = early === null ? rest : { ...rest, early };
  if (save.worldSize === 1) return writeReceipt(store, save, { rank: 0, ...options });
  const files = savedFiles(store.fs, save.data).files.map(({ path }) => path);
  for (let rank = 0; rank < save.worldSize; rank++) await writeReceipt(store, save, { rank, files: rank === 0 ? files : [], ...options });
}
