import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../limits.ts';
import { at, BESIDE_SUFFIX, MANIFEST_NAME } from '../store/layout.ts';
import { type Manifest, parseManifest } from '../store/manifest.ts';
import { readManifestFile } from '../store/read-seals.ts';
import { nameProblem } from '../store/relative-path.ts';
import type { SealedCheckpoint } from '../store/scan.ts';
import { type OpenStore, openRun } from '../store/store.ts';
import { isCode, storeError } from '../store/store-error.ts';
import type { ObjectStore } from './backend.ts';
import { openClaims } from './claim/claims.ts';
import { fetchFile } from './fetch-file.ts';
import { type CheckpointKind, fileKey, manifestKey } from './keys.ts';
import { readPointer } from './pointer.ts';
import { BlockPool } from './range-writer.ts';
import type { RateLimit } from './rate-limit.ts';
import { forEachAtOnce, Slots } from './slots.ts';

export interface FetchOptions {
  /** Opened with {@link stop}'s signal. */
  readonly remote: ObjectStore;
  readonly stop: AbortController;
  readonly signal: AbortSignal;
  /** The folder of the run, made when it is not there. */
  readonly folder: string;
  /** Null for the one the remote pointer names. */
  readonly checkpoint: string | null;
  readonly limit: RateLimit;
  readonly parallel: number;
  readonly clock: Clock;
  readonly onProgress?: (progress: { readonly done: number; readonly total: number; readonly current: string }) => void;
  /** Another process fetches the same; told again and again while it is waited for. */
  readonly onWait?: (pid: number | null, name: string) => void;
}

export interface Fetched {
  readonly name: string;
  readonly path: string;
  readonly step: number;
  readonly attempt: number;
  readonly save: string;
  /** `already`: it lay there, sealed, before this run. */
  readonly state: 'fetched' | 'already';
  readonly files: number;
  readonly bytes: number;
  /** Bytes that this run received; the rest was left by an earlier one. */
  readonly receivedBytes: number;
  readonly durationMs: number;
}

interface RemoteCheckpoint {
  readonly name: string;
  readonly kind: CheckpointKind;
  readonly manifest: Manifest;
  readonly text: Buffer;
}

/** Brings a shipped checkpoint back: all data first, compared with the seal as it comes, then the manifest, then one rename into place. */
export async function fetchCheckpoint(options: FetchOptions): Promise<Fetched> {
  const { remote, folder } = options;
  const started = options.clock.monotonic();
  const found = await findRemote(remote, options.checkpoint);
  const { name, manifest } = found;
  const store = openFolder(folder, manifest.run);
  const claims = openClaims(at.store(folder, 'fetching'), options);
  // Two who fetch the same share what was fetched so far, and cannot both put it in place.
  const claim = await claims.take(`fetch ${manifest.save}`, (owner) => options.onWait?.(owner?.pid ?? null, name));
  try {
    return await fetchClaimed(store, found, { ...options, started });
  } finally {
    claim.release();
  }
}

async function fetchClaimed(store: OpenStore, found: RemoteCheckpoint, options: FetchOptions & { started: number }): Promise<Fetched> {
  const { clock, folder, started } = options;
  const { name, manifest } = found;
  const { files, step, attempt, save } = manifest;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const facts = { name, path: join(folder, name), step, attempt, save, files: files.length, bytes };
  if (await isAlreadyThere(store, found))
    return { ...facts, state: 'already', receivedBytes: 0, durationMs: Math.round(clock.monotonic() - started) };
  const staging = stagingOf(folder, save);
  try {
    const receivedBytes = await fetchFiles(staging, found, options);
    putInPlace(store, staging, found);
    return { ...facts, state: 'fetched', receivedBytes, durationMs: Math.round(clock.monotonic() - started) };
  } catch (thrown) {
    throw storeError(thrown, 'write', folder);
  }
}

/** The save's name comes from outside and may be anything; its digest is the name of a folder. */
function stagingOf(folder: string, save: string): string {
  return at.store(folder, 'fetching', createHash('sha256').update(save).digest('hex').slice(0, 40));
}

async function findRemote(remote: ObjectStore, wanted: string | null): Promise<RemoteCheckpoint> {
  if (wanted !== null) {
    const problem = nameProblem(wanted);
    if (problem !== null) throw new HoldfastError('USAGE', { message: `--checkpoint "${printable(wanted)}" ${problem}` });
    return (await readRemote(remote, wanted, 'directory')) ?? (await readRemote(remote, wanted, 'files')) ?? notFound(remote, wanted);
  }
  const pointer = (await readPointer(remote))?.pointer ?? null;
  if (pointer === null) return notFound(remote, null);
  const found = (await readRemote(remote, pointer.name, pointer.kind)) ?? notFound(remote, pointer.name);
  if (found.manifest.save === pointer.save) return found;
  throw invalid(remote, pointer.name, 'is of another save than the pointer names');
}

function notFound(remote: ObjectStore, name: string | null): never {
  throw new HoldfastError('REMOTE_NOT_FOUND', {
    message: `no complete checkpoint ${name === null ? '' : `"${printable(name)}" `}was found at ${printable(remote.url)}`,
    hint: 'Give the address that was given to holdfast ship. Copies whose manifest is missing were never finished.',
  });
}

async function readRemote(remote: ObjectStore, name: string, kind: CheckpointKind): Promise<RemoteCheckpoint | null> {
  const read = await remote.read(manifestKey(name, kind), LIMITS.documentBytes);
  if (read === null) return null;
  const parsed = parseManifest(read.bytes.toString('utf8'));
  if (!parsed.ok) throw invalid(remote, name, parsed.reason);
  const { manifest } = parsed;
  const deep = kind === 'files' ? manifest.files.find(({ path }) => path.includes('/') || path.startsWith('.')) : undefined;
  if (deep !== undefined) throw invalid(remote, name, `names "${printable(deep.path)}", which does not lie beside it`);
  return { name, kind, manifest, text: read.bytes };
}

function invalid(remote: ObjectStore, name: string, reason: string): HoldfastError {
  return new HoldfastError('REMOTE_INVALID', {
    message: `the manifest of ${printable(remote.url)}/${printable(name)} ${reason}`,
    hint: 'Nothing was written. Fetch another checkpoint with --checkpoint, or use the version of Holdfast that shipped it.',
  });
}

/** The folder becomes one of this run; one of another is refused. */
function openFolder(folder: string, run: string): OpenStore {
  makeFolder(folder);
  const store = openRun(folder, { run });
  if (store.run === run) return store;
  throw new HoldfastError('RUN_FOREIGN', {
    message: `${printable(folder)} is the folder of the run ${printable(store.run)}, the checkpoint is of ${printable(run)}`,
    hint: 'Fetch it into a folder of its own.',
  });
}

function makeFolder(folder: string): void {
  try {
    makeFolders(folder);
  } catch (thrown) {
    // A file in the way is told by who opens the folder.
    if (!isCode(thrown, 'EEXIST', 'ENOTDIR')) throw storeError(thrown, 'make', folder);
  }
}

/** Step by step, because the runtime's own way calls a volume that cannot be written a folder that is not there. */
function makeFolders(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (thrown) {
    if (!isCode(thrown, 'ENOENT') || dirname(folder) === folder) throw thrown;
    makeFolders(dirname(folder));
    mkdirSync(folder);
  }
}

async function isAlreadyThere(store: OpenStore, { name, kind, manifest }: RemoteCheckpoint): Promise<boolean> {
  const { fs, path } = store;
  const file = kind === 'directory' ? join(path, name, MANIFEST_NAME) : join(path, `${name}${BESIDE_SUFFIX}`);
  const own = readManifestFile(fs, file);
  if (own?.ok === true && own.manifest.save === manifest.save) {
    await assertWhole(store, { name, kind, manifest: own.manifest, manifestFile: file, path: join(path, name) });
    return true;
  }
  if (own === null && fs.stat(join(path, name)) === null) return false;
  throw new HoldfastError('NAME_TAKEN', {
    message: `${printable(join(path, name))} is there already, and it is not this checkpoint`,
    hint: 'Nothing is ever replaced. Move it away, or fetch into another folder.',
  });
}

/** Its seal alone is no reason to say that it is here. */
async function assertWhole(store: OpenStore, here: Omit<SealedCheckpoint, 'root'>): Promise<void> {
  // With all it says about checkpoints: whoever fetches one for the first time does not need it.
  const { checkPresence } = await import('../store/check-sealed.ts');
  const problem = checkPresence(store, { ...here, root: here.kind === 'directory' ? here.path : store.path });
  if (problem === null) return;
  throw new HoldfastError('CHECKPOINT_NOT_GOOD', {
    message: `${printable(here.path)} is this checkpoint, but not whole: ${problem.reason}`,
    hint: 'Nothing is ever replaced. holdfast resume RUN moves a bad one to quarantine; then fetch it again.',
  });
}

async function fetchFiles(staging: string, { name, kind, manifest }: RemoteCheckpoint, options: FetchOptions): Promise<number> {
  const { remote, stop, signal, limit, parallel, onProgress } = options;
  const slots = new Slots(parallel);
  const blocks = new BlockPool();
  const total = manifest.files.reduce((sum, { size }) => sum + size, 0);
  let [done, received] = [0, 0];
  const data = join(staging, 'data');
  for (const folder of new Set(manifest.files.map(({ path }) => dirname(join(data, path))))) await mkdir(folder, { recursive: true });
  await mkdir(data, { recursive: true });
  await forEachAtOnce(manifest.files, { width: parallel, stop }, async (file) => {
    const onBytes = (count: number): void => {
      done += count;
      onProgress?.({ done, total, current: file.path });
    };
    const bytes = await fetchFile(join(data, file.path), fileKey(name, kind, file.path), file, {
      ...{ remote, slots, blocks, parallel, limit, signal },
      onBytes,
    });
    received += bytes;
  });
  return received;
}

/** Every byte is on the disk. What remains: the folders, the manifest, and the names, the manifest's last. */
function putInPlace({ fs, path }: OpenStore, staging: string, { name, kind, manifest, text }: RemoteCheckpoint): void {
  const data = join(staging, 'data');
  const manifestFile = kind === 'directory' ? join(data, MANIFEST_NAME) : join(staging, 'manifest');
  // An earlier run may have been killed between here and the rename.
  if (fs.stat(manifestFile) !== null) fs.unlink(manifestFile);
  fs.writeFile(manifestFile, text);
  fs.fsyncFile(manifestFile);
  for (const folder of foldersOf(manifest)) fs.fsyncFolder(join(data, folder));
  if (kind === 'directory') {
    refuseTaken(fs, join(path, name));
    fs.rename(data, join(path, name));
  } else {
    for (const file of manifest.files) {
      refuseTaken(fs, join(path, file.path));
      fs.rename(join(data, file.path), join(path, file.path));
    }
    fs.fsyncFolder(path);
    fs.rename(manifestFile, join(path, `${name}${BESIDE_SUFFIX}`));
  }
  fs.fsyncFolder(path);
  removeStaging(fs, staging, kind);
}

function refuseTaken(fs: OpenStore['fs'], path: string): void {
  if (fs.stat(path) === null) return;
  throw new HoldfastError('NAME_TAKEN', {
    message: `${printable(path)} appeared while the checkpoint was fetched`,
    hint: 'Nothing is ever replaced. Move it away and run the same command again: nothing is downloaded twice.',
  });
}

/** Every folder that has a file of the checkpoint in it or below it, the deepest first. */
function foldersOf({ files }: Manifest): readonly string[] {
  const folders = new Set<string>(['']);
  for (const { path } of files) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].sort((a, b) => b.length - a.length);
}

function removeStaging(fs: OpenStore['fs'], staging: string, kind: CheckpointKind): void {
  try {
    if (kind === 'files') fs.rmdir(join(staging, 'data'));
    fs.rmdir(staging);
  } catch (thrown) {
    if (!isCode(thrown, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) throw thrown;
  }
}
