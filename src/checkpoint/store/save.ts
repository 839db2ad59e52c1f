import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { type Attempt, fencedError, isFenced } from './attempt.ts';
import { type ChecksumOptions, sealFiles } from './checksum-files.ts';
import type { EarlyChecksums } from './early-checksums.ts';
import { bury } from './graves.ts';
import { storeFailure } from './last-good-cache.ts';
import { at, MANIFEST_NAME, STAGED_DATA } from './layout.ts';
import type { SaveIdentity, SealedFile } from './manifest.ts';
import { formatReceipt, RECEIPT_SCHEMA, receiptName } from './receipt.ts';
import { nameProblem, pathProblem } from './relative-path.ts';
import { replaceFile } from './replace-file.ts';
import type { OpenStore } from './store.ts';
import { isCode, storeError } from './store-error.ts';
import { markOwner, sweepStaging } from './save-owner.ts';
import { type FoundFile, foldersTo, walkFiles } from './walk-files.ts';

/** A save in flight. */
export interface Save extends SaveIdentity {
  /** Its private folder. */
  readonly folder: string;
  /** Where the framework writes its files. */
  readonly data: string;
}

export interface BeginOptions {
  readonly step: number;
  readonly worldSize: number;
  /** The same for all ranks of this save, and never used again, also not for a second try; made here when it is left out. */
  readonly save?: string;
}

/** Makes the private staging folder of a save, or joins it. Fails with ATTEMPT_FENCED when a newer attempt has started. */
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

export interface ReceiptOptions extends ChecksumOptions {
  readonly rank: number;
  /** The files this rank wrote, below the data folder; all of them when it is left out (only where the world has one rank). */
  readonly files?: readonly string[];
  /** Checksums that were taken while the save went on. */
  readonly early?: EarlyChecksums;
}

/**
 * Vouches for what one rank wrote: checksums every part while it is hot, syncs every file and every folder on the way to it, and then leaves
 * the receipt. After this the rank must not touch its files again.
 */
export async function writeReceipt(store: OpenStore, save: Save, options: ReceiptOptions): Promise<void> {
  const { fs } = store;
  const { run, attempt, save: id, step, worldSize, folder, data } = save;
  const { rank } = options;
  if (!Number.isSafeInteger(rank) || rank < 0 || rank >= worldSize) throw usage(`rank ${rank} is not one of 0…${worldSize - 1}`);
  try {
    const found = options.files === undefined ? everything(store, save) : options.files.map((path) => look(store, save, path));
    const files = await checksumsOf(data, found, options);
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
 * The reason behind whatever went wrong with a save whose staging is gone: a newer attempt has taken over, or another rank gave the save up.
 * Null when the staging is there. What a rank met on the way (a file that vanished, half a listing) would only mislead.
 */
export function whyLost(store: OpenStore, { attempt, save, data }: Save, cause: unknown): HoldfastError | null {
  try {
    if (isFenced(store, attempt)) return fencedError(attempt, cause);
    if (store.fs.stat(data) !== null) return null;
  } catch {
    // The system has troubles of its own; the first error tells more.
    return null;
  }
  return new HoldfastError('SAVE_INCOMPLETE', {
    message: `save ${excerpt(save, 60)} was given up by another rank, or taken away because every rank that had begun it was gone`,
    hint: 'Every earlier checkpoint is as it was. The next save begins with a new save id.',
    cause,
  });
}

function everything({ fs }: OpenStore, { data, worldSize }: Save): readonly FoundFile[] {
  if (worldSize > 1) throw usage('with more than one rank each names the files it wrote');
  const { files, others } = walkFiles(fs, data);
  const [other] = others;
  if (other !== undefined) throw notSealable(join(data, other), 'is neither a file nor a folder');
  return files;
}

function look({ fs }: OpenStore, { data }: Save, path: string): FoundFile {
  const problem = pathProblem(path) ?? (path === MANIFEST_NAME ? 'is the name of the manifest' : null);
  if (problem !== null) throw usage(`"${excerpt(path)}" ${problem}`);
  const { kind, ...facts } = fs.stat(join(data, path)) ?? { kind: null };
  if (kind === 'file' && 'size' in facts) return { path, ...facts };
  throw notSealable(join(data, path), kind === null ? 'is not there' : 'is not a regular file');
}

/** Gives up a save: its staging goes, everything else stays. Never fails; what cannot be removed now goes with a later prune. */
export function abandonSave(store: OpenStore, { folder }: Save): void {
  try {
    bury(store, folder);
  } catch {
    // The error that led here is the one to tell.
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
