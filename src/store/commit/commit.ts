import { join } from 'node:path';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { fencedError, isFenced } from '../attempt/attempt.ts';
import type { DurableFs } from '../disk/durable-fs.ts';
import { rememberSealed, rememberSuspicion, storeFailure } from '../folder/last-good-cache.ts';
import { insideSeal } from '../folder/read-seals.ts';
import { MANIFEST_NAME } from '../../seal/names.ts';
import { formatReadable, type Manifest, MANIFEST_SCHEMA, type SealedFile, sha256 } from '../../seal/manifest.ts';
import { parseReceipt, type Receipt, receiptName } from '../../seal/receipt.ts';
import { abandonSave, type Save, whyLost } from './save.ts';
import type { OpenStore } from '../folder/store.ts';
import { isCode, isDiskError, isNotOurs } from '../disk/store-error.ts';
import { NO_FILE } from '../disk/walk-files.ts';
import { savedFiles } from './saved-files.ts';

/** A checkpoint that this process has just sealed. */
export interface Sealed {
  /** The path inside the run's folder. */
  readonly name: string;
  readonly path: string;
  readonly manifest: Manifest;
}

/** How many taken names a commit tries before it fails: more than this means another fault. */
const MAX_NAMES = 1000;

/**
 * Seals a save: compares all receipts with each other and with the disk, writes the manifest, and
 * renames the data to its final name. Before the rename the run is unchanged. After the rename and
 * the sync of the run's folder, the whole checkpoint is there. A failure before the rename removes
 * the staging and changes nothing else. A failed sync fails the save and is never retried.
 */
export function commitSave(store: OpenStore, save: Save): Sealed {
  const { fs, path } = store;
  const { attempt, data } = save;
  let name: string;
  let manifest: Manifest;
  try {
    assertOwnFolders(store, save);
    const receipts = readReceipts(store, save);
    const files = joinFiles(receipts.map(({ receipt }) => receipt));
    holdAgainstDisk(store, save, files);
    manifest = manifestOf(store, save, receipts, files);
    const manifestFile = join(data, MANIFEST_NAME);
    fs.writeFile(manifestFile, formatReadable(manifest, data));
    fs.fsyncFile(manifestFile);
    fs.fsyncFolder(data);
    // The rename alone decides. This check only helps where a mount answers from a stale cache.
    if (isFenced(store, attempt)) throw fencedError(attempt);
    name = renameToFree(store, save);
  } catch (thrown) {
    const error = whyLost(store, save, thrown) ?? storeFailure(store, thrown, 'seal', data);
    abandonSave(store, save);
    throw error;
  }
  assertTakenByResume(store, name, save);
  makeNameDurable(store, name);
  rememberSealed(store, name, manifest);
  abandonSave(store, save);
  return { name, path: join(path, name), manifest };
}

/**
 * Refuses a save whose folder is not the one that Holdfast made for it. A trainer can replace the
 * folder by a link, and Holdfast reads and writes nothing through that link.
 */
function assertOwnFolders({ fs }: OpenStore, save: Save): void {
  for (const path of [save.folder, save.data]) {
    const stat = fs.stat(path);
    if (stat !== null && stat.kind !== 'folder') throw replaced(save);
  }
}

/**
 * Refuses a save that `resume` would reject, by the rule that `resume` itself uses. The trainer may
 * have replaced the folder right before the rename. Holdfast removes the link and leaves its target
 * alone.
 */
function assertTakenByResume(store: OpenStore, name: string, save: Save): void {
  const { fs, path } = store;
  const found = insideSeal(fs, path, name);
  // An unreadable disk is no proof of damage.
  if (found !== null && (found.parsed.ok ? found.parsed.manifest.save === save.save : found.parsed.kind === 'unreadable')) return;
  abandonSave(store, save);
  const final = join(path, name);
  if (fs.stat(final)?.kind === 'other') fs.unlink(final);
  throw replaced(save);
}

function replaced(save: Save): HoldfastError {
  return refusal('SAVE_INCOMPLETE', `the folder of save ${show(save)} was replaced by something else, for example by a link`);
}

/**
 * Makes the name of a sealed checkpoint durable: the last step of a commit. A caller that relies on
 * the commit of another process needs it too.
 */
export function makeNameDurable(store: OpenStore, name: string): void {
  try {
    store.fs.fsyncFolder(store.path);
  } catch (thrown) {
    if (isDiskError(thrown)) rememberSuspicion(store);
    throw notDurable(join(store.path, name), thrown);
  }
}

/**
 * Renames the data to the first free name. A rename never replaces a folder with content, so no
 * name is looked up before.
 */
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
    hint: 'Move other files out of the run’s folder.',
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

/** Reads the receipts of all ranks and requires that each belongs to exactly this save. */
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

/**
 * Requires that the folder holds exactly the files of the receipts: no rank has synced any other
 * file.
 */
function holdAgainstDisk({ fs }: OpenStore, { data }: Save, files: readonly SealedFile[]): void {
  const { files: found, others } = savedFiles(fs, data);
  const sizes = new Map(found.map(({ path, size }) => [path, size]));
  for (const { path, size } of files) {
    const actual = sizes.get(path);
    if (actual === undefined) throw refusal('SAVE_INCOMPLETE', `${excerpt(path)} is in a receipt and not in the folder`);
    if (actual !== size) throw refusal('SAVE_MIXED', `${excerpt(path)} has ${actual} bytes, but its receipt says ${size}`);
    sizes.delete(path);
  }
  const [other] = others;
  if (other !== undefined) throw refusal('SAVE_MIXED', `${excerpt(other)} lies in the folder, and ${NO_FILE}`);
  const [stranger] = sizes.keys();
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

/**
 * The error of a rename that was not synced: the checkpoint is there and stays, but a crash may
 * remove it.
 */
function notDurable(path: string, cause: unknown): HoldfastError {
  return new HoldfastError('STORE_FAILED', {
    message: `${printable(path)} was written whole, but its name could not be made durable: ${systemCode(cause) ?? String(cause)}`,
    hint: 'Holdfast checks it like any other when the run resumes. It may be lost if the machine crashes. Check the volume.',
    cause,
  });
}

function show({ save, step }: Save): string {
  return `${excerpt(save, 60)} (step ${step})`;
}

function refusal(code: 'SAVE_INCOMPLETE' | 'SAVE_MIXED', message: string): HoldfastError {
  const hint = 'The save was abandoned; earlier checkpoints are unchanged. The next save gets a new save id.';
  return new HoldfastError(code, { message, hint });
}
