import { dirname } from 'node:path';
import type { EarlyChecksums } from '../../checkpoint/store/early-checksums.ts';
import { commitSave } from '../../checkpoint/store/commit.ts';
import { abandonSave, type Save, whyLost, writeReceipt } from '../../checkpoint/store/save.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { storeError } from '../../checkpoint/store/store-error.ts';
import { walkFiles } from '../../checkpoint/store/walk-files.ts';
import { HoldfastError } from '../../core/errors.ts';
import { copyImage } from '../staging/copy-image.ts';
import type { SealedSave, Work } from './messages.ts';
import { assertOneWriterEach } from './one-writer.ts';

export interface SealOptions {
  readonly signal: AbortSignal;
  readonly onBytes: (done: number, total: number) => void;
  /** Asked once, right before the commit; false: the save was given up. */
  readonly mayCommit: () => boolean;
}

/**
 * Makes a checkpoint of what the ranks have handed over, out of memory where it lies there. When it fails the save's staging is gone, and
 * everything earlier is as it was; what lies in memory is left to whoever asked.
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
    // Of a single rank nothing can be mixed, and it leaves no names.
    if (save.worldSize > 1) assertOneWriterEach(fs, { folder: image === null ? save.folder : dirname(image), data: image ?? save.data });
    const early = image === null ? null : await copyImage(fs, image, save.data, { signal, onBytes });
    if (early !== null) copiedMs = clock.monotonic();
    await writeReceipts(store, save, { signal, onBytes, early });
    if (!options.mayCommit()) throw new HoldfastError('SAVE_INCOMPLETE', { message: 'the save was given up' });
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
  return { name, path, bytes, phases };
}

type ReceiptFacts = Omit<SealOptions, 'mayCommit'> & { readonly early: EarlyChecksums | null };

/** All ranks have handed over, so that nobody writes any more: the first vouches for every file, the others for none. */
async function writeReceipts(store: OpenStore, save: Save, { early, ...rest }: ReceiptFacts): Promise<void> {
  const options = early === null ? rest : { ...rest, early };
  if (save.worldSize === 1) return writeReceipt(store, save, { rank: 0, ...options });
  const files = walkFiles(store.fs, save.data).files.map(({ path }) => path);
  for (let rank = 0; rank < save.worldSize; rank++) await writeReceipt(store, save, { rank, files: rank === 0 ? files : [], ...options });
}
