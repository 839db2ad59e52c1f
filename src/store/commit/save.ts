import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { type Attempt, fencedError, isFenced } from '../attempt/attempt.ts';
import { type ChecksumOptions, sealFiles } from '../disk/checksum-files.ts';
import type { EarlyChecksums } from '../disk/early-checksums.ts';
import { discardFolder } from '../trash/trash.ts';
import { storeFailure } from '../folder/last-good-cache.ts';
import { at, MANIFEST_NAME, STAGED_DATA } from '../../seal/names.ts';
import type { SaveIdentity, SealedFile } from '../../seal/manifest.ts';
import { formatReceipt, RECEIPT_SCHEMA, receiptName } from '../../seal/receipt.ts';
import { nameProblem, pathProblem } from '../../seal/relative-path.ts';
import { replaceFile } from '../disk/replace-file.ts';
import type { OpenStore } from '../folder/store.ts';
import { isCode, storeError } from '../disk/store-error.ts';
import { markOwner, sweepStaging } from '../trash/save-owner.ts';
import { type FoundFile, foldersTo, NO_FILE } from '../disk/walk-files.ts';
import { savedFiles } from './saved-files.ts';

/** A save in flight. */
export interface Save extends SaveIdentity {
  /** The private folder of the save. */
  readonly folder: string;
  /** The folder where the framework writes its files. */
  readonly data: string;
}

/** The identity of a save, shared by all ranks that write it. */
export interface BeginOptions {
  readonly step: number;
  readonly worldSize: number;
  /**
   * The same for all ranks of this save, and never reused, not even for a retry. By default a new
   * one is made.
   */
  readonly save?: string;
}

/**
 * Makes the private staging folder of a save, or joins it. Fails with ATTEMPT_FENCED when a newer
 * attempt has started.
 */
export function beginSave(store: OpenStore, { attempt }: Attempt, { step, worldSize, save = store.makeId() }: BeginOptions): Save {
  const problem = nameProblem(save) ?? (save.startsWith('.') ? 'begins with a dot' : null);
  if (problem !== null) throw usage(`the save id "${excerpt(save, 40)}" ${problem}`);
  if (!Number.isSafeInteger(step) || step < 0) throw usage(`a step is a whole number from 0, not ${step}`);
  if (!Number.isSafeInteger(worldSize) || worldSize < 1) throw usage(`a world size is a whole number from 1, not ${worldSize}`);
  const folder = join(at.staging(store.path, attempt), save);
  const data = join(folder, STAGED_DATA);
  const begun = { run: store.run, attempt, save, step, worldSize, folder, data };
  sweepStaging(store, folder);
  try {
    makeFolder(store, folder);
    markOwner(store, folder);
    for (const path of [data, join(folder, 'receipts')]) makeFolder(store, path);
  } catch (thrown) {
    throw (isCode(thrown, 'ENOENT') ? whyLost(store, begun, thrown) : null) ?? storeError(thrown, 'begin a save in', folder);
  }
  return begun;
}

function makeFolder({ fs }: OpenStore, path: string): void {
  try {
    fs.mkdir(path);
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}

/** What a rank tells about the files that it wrote. */
export interface ReceiptOptions extends ChecksumOptions {
  readonly rank: number;
  /**
   * The files this rank wrote, below the data folder. By default all of them, which is allowed only
   * with one rank.
   */
  readonly files?: readonly string[];
  /** Checksums that were taken during the save. */
  readonly early?: EarlyChecksums;
}

/**
 * Writes the receipt of one rank. First it checksums every part while that is in the page cache,
 * and syncs every file and its folders. The rank must not touch its files after this call.
 */
export async function writeReceipt(store: OpenStore, save: Save, options: ReceiptOptions): Promise<void> {
  const { fs } = store;
  const { run, attempt, save: id, step, worldSize, folder, data } = save;
  const { rank } = options;
  if (!Number.isSafeInteger(rank) || rank < 0 || rank >= worldSize) throw usage(`rank ${rank} is not one of 0…${worldSize - 1}`);
  try {
    const found = options.files === undefined ? everything(store, save) : options.files.map((path) => look(store, save, path));
    const files = await checksumsOf(data, found, { beneath: store.path, ...options });
    for (const { path } of found) fs.fsyncFile(join(data, path));
    for (const path of foldersTo(found)) fs.fsyncFolder(join(data, path));
    const receipt = { schema: RECEIPT_SCHEMA, run, attempt, save: id, step, worldSize, rank, files } as const;
    replaceFile(fs, join(folder, 'receipts', receiptName(rank)), formatReceipt(receipt), store.makeId());
  } catch (thrown) {
    throw whyLost(store, save, thrown) ?? storeFailure(store, thrown, 'write the receipt of', data);
  }
}

async function checksumsOf(data: string, found: readonly FoundFile[], options: ReceiptOptions): Promise<readonly SealedFile[]> {
  const known = (await options.early?.of(found)) ?? [];
  const fresh = await sealFiles(
    data,
    found.filter((_, index) => (known[index] ?? null) === null),
    options,
  );
  return [...known.filter((file) => file !== null), ...fresh];
}

/**
 * Returns why the staging of a save is gone, or null when it is there. Either a newer attempt has
 * taken over, or another rank has aborted the save. The error that a rank met first (a file that
 * vanished, half a listing) would only mislead.
 */
export function whyLost(store: OpenStore, { attempt, save, data }: Save, cause: unknown): HoldfastError | null {
  try {
    if (isFenced(store, attempt)) return fencedError(attempt, cause);
    if (store.fs.stat(data) !== null) return null;
  } catch {
    // The system has other problems; the first error explains more.
    return null;
  }
  return new HoldfastError('SAVE_INCOMPLETE', {
    message: `save ${excerpt(save, 60)} was abandoned by another rank, or removed because every rank that took part in it was gone`,
    hint: 'Earlier checkpoints are unchanged. The next save gets a new save id.',
    cause,
  });
}

function everything({ fs }: OpenStore, { data, worldSize }: Save): readonly FoundFile[] {
  if (worldSize > 1) throw usage('with more than one rank each names the files it wrote');
  const { files, others } = savedFiles(fs, data);
  const [other] = others;
  if (other !== undefined) throw notSealable(join(data, other), NO_FILE);
  return files;
}

function look({ fs }: OpenStore, { data }: Save, path: string): FoundFile {
  const problem = pathProblem(path) ?? (path === MANIFEST_NAME ? 'is the name of the manifest' : null);
  if (problem !== null) throw usage(`"${excerpt(path)}" ${problem}`);
  const { kind, ...facts } = fs.stat(join(data, path)) ?? { kind: null };
  if (kind === 'file' && 'size' in facts) return { path, ...facts };
  throw notSealable(join(data, path), kind === null ? 'is not there' : 'is not a regular file');
}

/**
 * Aborts a save: removes its staging and keeps everything else. Never fails; a later prune removes
 * the rest.
 */
export function abandonSave(store: OpenStore, { folder }: Save): void {
  try {
    discardFolder(store, folder);
  } catch {
    // The caller reports the error that led here.
  }
}

function notSealable(path: string, problem: string): HoldfastError {
  return new HoldfastError('CHECKPOINT_NOT_SEALABLE', {
    message: `${printable(path)} ${problem}`,
    hint: 'A checkpoint is sealed from regular files, all of them written when its receipt is asked for.',
  });
}

function usage(message: string): HoldfastError {
  return new HoldfastError('USAGE', { message });
}
