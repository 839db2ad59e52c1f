import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { at } from '../store/layout.ts';
import { type OpenStore, openRun } from '../store/store.ts';
import { isCode, storeError } from '../store/store-error.ts';
import type { ObjectStore } from './backend.ts';
import { openClaims } from './claim/claims.ts';
import { fetchFile } from './fetch-file.ts';
import { findPlace, putInPlace } from './fetch-place.ts';
import { fileKey } from './keys.ts';
import { readPointer } from './pointer.ts';
import { BlockPool } from './range-writer.ts';
import type { RateLimit } from './rate-limit.ts';
import { findNamed, invalid, notFound, readCopy, type RemoteCheckpoint } from './remote-checkpoint.ts';
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
  /** What it is called below the address. */
  readonly copy: string;
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
  const { files, step, attempt, save } = found.manifest;
  const { name, isThere } = await findPlace(store, found);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const facts = { name, copy: found.copy.name, path: join(folder, name), step, attempt, save, files: files.length, bytes };
  if (isThere) return { ...facts, state: 'already', receivedBytes: 0, durationMs: Math.round(clock.monotonic() - started) };
  const staging = stagingOf(folder, save);
  try {
    const receivedBytes = await fetchFiles(staging, found, options);
    putInPlace(store, staging, found, name);
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
  if (wanted !== null) return findNamed(remote, wanted);
  const pointer = (await readPointer(remote))?.pointer ?? null;
  if (pointer === null) return notFound(remote, null);
  const found = (await readCopy(remote, pointer)) ?? notFound(remote, pointer.name);
  if (found.manifest.save === pointer.save) return found;
  throw invalid(remote, pointer.name, 'is of another save than the pointer names');
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

async function fetchFiles(staging: string, { copy, manifest }: RemoteCheckpoint, options: FetchOptions): Promise<number> {
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
    const bytes = await fetchFile(join(data, file.path), fileKey(copy.name, copy.kind, file.path), file, {
      ...{ remote, slots, blocks, parallel, limit, signal },
      onBytes,
    });
    received += bytes;
  });
  return received;
}
