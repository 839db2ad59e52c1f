import { commitSave } from '../../checkpoint/store/commit.ts';
import { abandonSave, type Save, writeReceipt } from '../../checkpoint/store/save.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { walkFiles } from '../../checkpoint/store/walk-files.ts';
import type { SealedSave } from './messages.ts';

export interface SealOptions {
  readonly signal: AbortSignal;
  readonly onBytes: (done: number, total: number) => void;
}

/** Makes a checkpoint of what the ranks have handed over. When it fails the save's staging is gone, and everything earlier is as it was. */
export async function sealSave(store: OpenStore, save: Save, options: SealOptions): Promise<SealedSave> {
  const { clock } = store;
  const startedMs = clock.monotonic();
  try {
    await writeReceipts(store, save, options);
    options.signal.throwIfAborted();
  } catch (thrown) {
    abandonSave(store, save);
    throw thrown;
  }
  const checksummedMs = clock.monotonic();
  const { name, path, manifest } = commitSave(store, save);
  const bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  const phases = { copyMs: null, checksumMs: checksummedMs - startedMs, commitMs: clock.monotonic() - checksummedMs };
  return { name, path, bytes, phases };
}

/** All ranks have handed over, so that nobody writes any more: the first vouches for every file, the others for none. */
async function writeReceipts(store: OpenStore, save: Save, options: SealOptions): Promise<void> {
  if (save.worldSize === 1) return writeReceipt(store, save, { rank: 0, ...options });
  const files = walkFiles(store.fs, save.data).files.map(({ path }) => path);
  for (let rank = 0; rank < save.worldSize; rank++) await writeReceipt(store, save, { rank, files: rank === 0 ? files : [], ...options });
}
