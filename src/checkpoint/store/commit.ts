import { join } from 'node:path';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { fencedError, isFenced } from './attempt.ts';
import type { DurableFs } from './durable-fs.ts';
import { rememberSealed, rememberSuspicion, storeFailure } from './last-good-cache.ts';
import { MANIFEST_NAME } from './layout.ts';
import { formatReadable, type Manifest, MANIFEST_SCHEMA, type SealedFile, sha256 } from './manifest.ts';
import { parseReceipt, type Receipt, receiptName } from './receipt.ts';
import { abandonSave, type Save, whyLost } from './save.ts';
import type { OpenStore } from './store.ts';
import { isCode, isDiskError, isNotOurs } from './store-error.ts';
import { walkFiles } from './walk-files.ts';

/** A checkpoint that was just sealed. */
export interface Sealed {
  /** In the run's folder. */
  readonly name: string;
  readonly path: string;
  readonly manifest: Manifest;
}

/** A name that is taken is passed by; after this many something else is wrong. */
const MAX_NAMES = 1000;

/**
 * Seals a save: holds the receipts of all ranks against each other and against the disk, writes the manifest, and renames the data to its
 * final name. Until the rename the run is as it was; after it and the sync of the run's folder the checkpoint is there, whole. When it
 * fails before the rename the staging is removed and nothing else has changed. A failed sync fails the save; it is never tried again.
 */
export function commitSave(store: OpenStore, save: Save): Sealed {
  const { fs, path } = store;
  const { attempt, data } = save;
  let name: string;
  let manifest: Manifest;
  try {
    const receipts = readReceipts(store, save);
    const files = joinFiles(receipts.map(({ receipt }) => receipt));
    holdAgainstDisk(store, save, files);
    manifest = manifestOf(store, save, receipts, files);
    const manifestFile = join(data, MANIFEST_NAME);
    fs.writeFile(manifestFile, formatReadable(manifest, data));
    fs.fsyncFile(manifestFile);
    fs.fsyncFolder(data);
    // The rename alone decides. This look only helps where a mount answers from a stale cache.
    if (isFenced(store, attempt)) throw fencedError(attempt);
    name = renameToFree(store, save);
  } catch (thrown) {
    const error = whyLost(store, save, thrown) ?? storeFailure(store, thrown, 'seal', data);
    abandonSave(store, save);
    throw error;
  }
  makeNameDurable(store, name);
  rememberSealed(store, name, manifest);
  abandonSave(store, save);
  return { name, path: join(path, name), manifest };
}

/** The last step of a commit, also for whoever relies on one that another has made. */
export function makeNameDurable(store: OpenStore, name: string): void {
  try {
    store.fs.fsyncFolder(store.path);
  } catch (thrown) {
    if (isDiskError(thrown)) rememberSuspicion(store);
    throw notDurable(join(store.path, name), thrown);
  }
}

/** Renames the data to the first free name. A folder that is not empty is never replaced by a rename, so that nothing is looked up before. */
function renameToFree({ fs, path }: OpenStore, { data, step, attempt }: Save): string {
  for (let n = 0; n < MAX_NAMES; n++) {
    const name = nameOf(step, attempt, n);
    try {
      fs.rename(data, join(path, name));
      return name;
    } catch (thrown) {
      if (!isCode(thrown, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw thrown;
    }
  }
  throw new HoldfastError('NAME_TAKEN', {
    message: `${printable(join(path, nameOf(step, attempt, 0)))} and ${MAX_NAMES - 1} names like it are taken`,
    hint: 'Move other things out of the run’s folder.',
  });
}

function nameOf(step: number, attempt: number, n: number): string {
  if (n === 0) return `step-${step}`;
  return n === 1 ? `step-${step}-a${attempt}` : `step-${step}-a${attempt}-${n}`;
}

interface ReadReceipt {
  readonly receipt: Receipt;
  readonly sha256: string;
}

/** The receipts of all ranks, each of exactly this save. */
function readReceipts({ fs }: OpenStore, save: Save): readonly ReadReceipt[] {
  const folder = join(save.folder, 'receipts');
  const strangers = new Set(fs.list(folder));
  const receipts: ReadReceipt[] = [];
  for (let rank = 0; rank < save.worldSize; rank++) {
    const name = receiptName(rank);
    if (!strangers.delete(name))
      throw refusal('SAVE_INCOMPLETE', `rank ${rank} of ${save.worldSize} has left no receipt for save ${show(save)}`);
    const bytes = readReceipt(fs, join(folder, name));
    if (bytes === null) throw refusal('SAVE_INCOMPLETE', `the receipt of rank ${rank} for save ${show(save)} is not a small regular file`);
    const result = parseReceipt(bytes.toString('utf8'));
    if (!result.ok) throw refusal('SAVE_INCOMPLETE', `the receipt of rank ${rank} for save ${show(save)} ${result.reason}`);
    assertSameSave(result.value, save, rank);
    receipts.push({ receipt: result.value, sha256: sha256(bytes) });
  }
  const stranger = [...strangers].find((name) => /^rank-\d+\.json$/.test(name));
  if (stranger !== undefined) throw refusal('SAVE_MIXED', `${excerpt(stranger)} is a receipt of no rank of save ${show(save)}`);
  return receipts;
}

function readReceipt(fs: DurableFs, file: string): Buffer | null {
  try {
    return fs.readFile(file);
  } catch (thrown) {
    if (isNotOurs(thrown)) return null;
    throw thrown;
  }
}

const IDENTITY = ['run', 'attempt', 'save', 'step', 'worldSize'] as const;

function assertSameSave(receipt: Receipt, save: Save, rank: number): void {
  for (const key of IDENTITY) {
    if (receipt[key] === save[key]) continue;
    const message = `the receipt of rank ${rank} says ${key} ${excerpt(String(receipt[key]), 60)}, but the save has ${excerpt(String(save[key]), 60)}`;
    throw refusal('SAVE_MIXED', message);
  }
  if (receipt.rank !== rank) throw refusal('SAVE_MIXED', `the receipt of rank ${rank} says it is of rank ${receipt.rank}`);
}

function joinFiles(receipts: readonly Receipt[]): readonly SealedFile[] {
  const owners = new Map<string, number>();
  const files: SealedFile[] = [];
  for (const { rank, files: own } of receipts) {
    for (const file of own) {
      const owner = owners.get(file.path);
      if (owner !== undefined) throw refusal('SAVE_MIXED', `${excerpt(file.path)} is in the receipts of rank ${owner} and rank ${rank}`);
      owners.set(file.path, rank);
      files.push(file);
    }
  }
  if (files.length === 0) throw refusal('SAVE_INCOMPLETE', 'no rank wrote a file');
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What lies in the folder must be exactly what the receipts name: a file nobody vouches for was not synced either. */
function holdAgainstDisk({ fs }: OpenStore, { data }: Save, files: readonly SealedFile[]): void {
  const { files: found, others } = walkFiles(fs, data);
  const sizes = new Map(found.map(({ path, size }) => [path, size]));
  for (const { path, size } of files) {
    const actual = sizes.get(path);
    if (actual === undefined) throw refusal('SAVE_INCOMPLETE', `${excerpt(path)} is in a receipt and not in the folder`);
    if (actual !== size) throw refusal('SAVE_MIXED', `${excerpt(path)} has ${actual} bytes, but its receipt says ${size}`);
    sizes.delete(path);
  }
  const stranger = others[0] ?? [...sizes.keys()][0];
  if (stranger !== undefined) throw refusal('SAVE_MIXED', `${excerpt(stranger)} lies in the folder, but no receipt names it`);
}

function manifestOf(store: OpenStore, save: Save, receipts: readonly ReadReceipt[], files: readonly SealedFile[]): Manifest {
  const { run, attempt, save: id, step, worldSize } = save;
  return {
    schema: MANIFEST_SCHEMA,
    run,
    attempt,
    save: id,
    step,
    worldSize,
    origin: 'save',
    format: null,
    sealedAt: new Date(store.clock.now()).toISOString(),
    bootId: store.bootId,
    receipts: receipts.map(({ receipt: { rank }, sha256: digest }) => ({ rank, sha256: digest })),
    files,
  };
}

/** The rename has happened and cannot be taken back: the checkpoint is there, and nobody can promise that it will be after a crash. */
function notDurable(path: string, cause: unknown): HoldfastError {
  return new HoldfastError('STORE_FAILED', {
    message: `${printable(path)} was written whole, but its name could not be made durable: ${systemCode(cause) ?? String(cause)}`,
    hint: 'It is checked like any other when the run resumes, and may be gone after a crash of the machine. Look at the volume.',
    cause,
  });
}

function show({ save, step }: Save): string {
  return `${excerpt(save, 60)} (step ${step})`;
}

function refusal(code: 'SAVE_INCOMPLETE' | 'SAVE_MIXED', message: string): HoldfastError {
  const hint = 'The save was given up; every earlier checkpoint is as it was. The next save begins with a new save id.';
  return new HoldfastError(code, { message, hint });
}
