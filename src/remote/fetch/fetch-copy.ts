import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { at } from '../../seal/names.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { removeTree } from '../../store/disk/delete-tree.ts';
import type { DurableFs } from '../../store/disk/durable-fs.ts';
import { isCode, storeError } from '../../store/disk/store-error.ts';
import { foldersTo } from '../../store/disk/walk-files.ts';
import { admitFetch, type FetchDemand } from './admit-fetch.ts';
import { assertStored } from './assert-stored.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { openClaims } from '../claim/claims.ts';
import { fetchFile } from './fetch-file.ts';
import { findPlace, putInPlace } from './fetch-place.ts';
import { fileKey } from '../backends/keys.ts';
import { BlockPool } from './range-writer.ts';
import type { RateLimit } from '../transfer/rate-limit.ts';
import { isBadCopy, type RemoteCheckpoint } from '../pointer/remote-checkpoint.ts';
import { forEachAtOnce, Slots } from '../transfer/slots.ts';

/** What the fetch of one copy needs. */
export interface FetchCopyOptions {
  /** The store, opened with {@link stop}'s signal. */
  readonly remote: ObjectStore;
  readonly stop: AbortController;
  readonly signal: AbortSignal;
  readonly limit: RateLimit;
  readonly parallel: number;
  readonly clock: Clock;
  /** The environment, whose variables decide how much room counts as free. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly onProgress?: (progress: { readonly done: number; readonly total: number; readonly current: string }) => void;
  /** Called again and again while another process fetches the same copy. */
  readonly onWait?: (pid: number | null, name: string) => void;
}

/** The result of fetching one copy. */
export interface FetchedCopy {
  readonly name: string;
  /** The name of the copy below the address. */
  readonly copy: string;
  readonly path: string;
  readonly step: number;
  readonly attempt: number;
  readonly save: string;
  /** `already`: the sealed checkpoint was there before this run. */
  readonly state: 'fetched' | 'already';
  readonly files: number;
  readonly bytes: number;
  /** Bytes that this run received; an earlier run left the rest. */
  readonly receivedBytes: number;
}

/**
 * Fetches one copy into the folder of its run. All data comes first and is compared with the seal
 * as it arrives. Then come the manifest and one rename into place.
 */
export async function fetchCopy(store: OpenStore, found: RemoteCheckpoint, options: FetchCopyOptions): Promise<FetchedCopy> {
  const claims = openClaims(at.store(store.path, 'fetching'), { ...options, root: store.path });
  // Two processes that fetch the same copy share the received files, and only one can put them in
  // place.
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
    await admit(store, found, { ...options, files: missing, data: dataOf(staging) });
    const receivedBytes = await fetchFiles(store, staging, found, { ...options, placed: place.placed });
    putInPlace(store, staging, found, place);
    return { ...facts, state: 'fetched', receivedBytes };
  } catch (thrown) {
    throw storeError(thrown, 'write', folder);
  }
}

/**
 * Checks the room for a copy. If a copy does not fit, ask the store first: its manifest may lie
 * about the size.
 */
async function admit(store: OpenStore, found: RemoteCheckpoint, demand: FetchDemand & Pick<FetchCopyOptions, 'remote'>): Promise<void> {
  try {
    await admitFetch(store, demand);
  } catch (thrown) {
    await assertStored(demand.remote, found);
    throw thrown;
  }
}

/**
 * Removes what was received of a bad copy after another copy was taken, unless another process is
 * receiving it.
 */
export function discardStaged({ fs, path }: OpenStore, save: string, options: FetchCopyOptions): void {
  const claim = openClaims(at.store(path, 'fetching'), { ...options, root: path }).tryTake(claimOf(save));
  if (claim === null) return;
  try {
    removeTree(fs, stagingOf(path, save));
  } finally {
    claim.release();
  }
}

/** Makes the missing folders from `top` down to `folder`. */
function makeFolders(fs: DurableFs, top: string, folder: string): void {
  if (folder === top || fs.stat(folder)?.kind === 'folder') return;
  makeFolders(fs, top, dirname(folder));
  try {
    fs.mkdir(folder);
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}

/** Names the claim to receive a save in a folder. */
function claimOf(save: string): string {
  return `fetch ${save}`;
}

/**
 * The folder for received files. It is named by a digest, because a save's name is outside input.
 */
function stagingOf(folder: string, save: string): string {
  return at.store(folder, 'fetching', createHash('sha256').update(save).digest('hex').slice(0, 40));
}

function dataOf(staging: string): string {
  return join(staging, 'data');
}

async function fetchFiles(
  { fs, path: run }: OpenStore,
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
  const folders = [data, ...foldersTo(manifest.files).map((folder) => join(data, folder))];
  for (const folder of folders) makeFolders(fs, run, folder);
  // Cancels transfers that have not started, but keeps the connection: after a bad copy, fetch
  // tries another.
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
      const bytes = await fetchFile(join(data, file.path), key, file, {
        ...{ run, remote, slots, blocks, parallel, limit, signal },
        onBytes,
      });
      received += bytes;
    } catch (thrown) {
      if (!over.signal.aborted && !isBadCopy(thrown)) stop.abort(thrown);
      throw thrown;
    }
  });
  return received;
}
