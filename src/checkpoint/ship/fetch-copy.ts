import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { at } from '../store/layout.ts';
import type { OpenStore } from '../store/store.ts';
import { storeError } from '../store/store-error.ts';
import { admitFetch } from './admit-fetch.ts';
import type { ObjectStore } from './backend.ts';
import { openClaims } from './claim/claims.ts';
import { fetchFile } from './fetch-file.ts';
import { findPlace, putInPlace } from './fetch-place.ts';
import { fileKey } from './keys.ts';
import { BlockPool } from './range-writer.ts';
import type { RateLimit } from './rate-limit.ts';
import { isBadCopy, type RemoteCheckpoint } from './remote-checkpoint.ts';
import { forEachAtOnce, Slots } from './slots.ts';

export interface FetchCopyOptions {
  /** Opened with {@link stop}'s signal. */
  readonly remote: ObjectStore;
  readonly stop: AbortController;
  readonly signal: AbortSignal;
  readonly limit: RateLimit;
  readonly parallel: number;
  readonly clock: Clock;
  /** What tells how much room counts as free. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly onProgress?: (progress: { readonly done: number; readonly total: number; readonly current: string }) => void;
  /** Another process fetches the same; told again and again while it is waited for. */
  readonly onWait?: (pid: number | null, name: string) => void;
}

export interface FetchedCopy {
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
}

/** Brings one copy into the folder of its run: all data first, compared with the seal as it comes, then the manifest, then one rename into place. */
export async function fetchCopy(store: OpenStore, found: RemoteCheckpoint, options: FetchCopyOptions): Promise<FetchedCopy> {
  const claims = openClaims(at.store(store.path, 'fetching'), options);
  // Two who fetch the same share what was fetched so far, and cannot both put it in place.
  const claim = await claims.take(claimOf(found.manifest.save), (owner) => options.onWait?.(owner?.pid ?? null, found.name));
  try {
    return await fetchClaimed(store, found, options);
  } finally {
    claim.release();
  }
}

async function fetchClaimed(store: OpenStore, found: RemoteCheckpoint, options: FetchCopyOptions): Promise<FetchedCopy> {
  const { path: folder } = store;
  const { files, step, attempt, save } = found.manifest;
  const place = await findPlace(store, found, options);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const facts = {
    name: place.name,
    copy: found.copy.name,
    path: join(folder, place.name),
    step,
    attempt,
    save,
    files: files.length,
    bytes,
  };
  if (place.isThere) return { ...facts, state: 'already', receivedBytes: 0 };
  const staging = stagingOf(folder, save);
  try {
    const missing = files.filter((file) => !place.placed.has(file.path));
    await admitFetch(store, { ...options, files: missing, data: dataOf(staging) });
    const receivedBytes = await fetchFiles(staging, found, { ...options, placed: place.placed });
    putInPlace(store, staging, found, place);
    return { ...facts, state: 'fetched', receivedBytes };
  } catch (thrown) {
    throw storeError(thrown, 'write', folder);
  }
}

/** Removes what was received of a copy that is no good, once another one was taken; not while somebody else receives it. */
export async function discardStaged({ path }: OpenStore, save: string, options: FetchCopyOptions): Promise<void> {
  const claim = openClaims(at.store(path, 'fetching'), options).tryTake(claimOf(save));
  if (claim === null) return;
  try {
    await rm(stagingOf(path, save), { recursive: true, force: true });
  } finally {
    claim.release();
  }
}

/** What one process at a time may do in a folder. */
function claimOf(save: string): string {
  return `fetch ${save}`;
}

/** The save's name comes from outside and may be anything; its digest is the name of a folder. */
function stagingOf(folder: string, save: string): string {
  return at.store(folder, 'fetching', createHash('sha256').update(save).digest('hex').slice(0, 40));
}

function dataOf(staging: string): string {
  return join(staging, 'data');
}

async function fetchFiles(
  staging: string,
  { copy, manifest }: RemoteCheckpoint,
  options: FetchCopyOptions & { readonly placed: ReadonlySet<string> },
): Promise<number> {
  const { remote, stop, limit, onProgress, placed } = options;
  const parallel = Math.min(options.parallel, limit.mostTransfers);
  const slots = new Slots(parallel);
  const blocks = new BlockPool();
  const total = manifest.files.reduce((sum, { size }) => sum + size, 0);
  let [done, received] = [0, 0];
  const data = dataOf(staging);
  for (const folder of new Set(manifest.files.map(({ path }) => dirname(join(data, path))))) await mkdir(folder, { recursive: true });
  await mkdir(data, { recursive: true });
  // Ends what is not begun yet, and not the connection: where the copy is bad, another one is asked for.
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  await forEachAtOnce(manifest.files, { width: parallel, stop: over }, async (file) => {
    const onBytes = (count: number): void => {
      done += count;
      onProgress?.({ done, total, current: file.path });
    };
    if (placed.has(file.path)) return onBytes(file.size);
    try {
      const key = fileKey(copy.name, copy.kind, file.path);
      const bytes = await fetchFile(join(data, file.path), key, file, { ...{ remote, slots, blocks, parallel, limit, signal }, onBytes });
      received += bytes;
    } catch (thrown) {
      if (!over.signal.aborted && !isBadCopy(thrown)) stop.abort(thrown);
      throw thrown;
    }
  });
  return received;
}
