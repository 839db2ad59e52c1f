import { createHash, randomUUID } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import * as fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../../core/clock.ts';
import { crc32c } from '../../../core/checksums.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { makeLastingFolders } from '../../../core/make-folders.ts';
import { printable } from '../../../core/printable.ts';
import { isCode, storeError } from '../../../store/disk/store-error.ts';
import { openClaims } from '../../claim/claims.ts';
import { RequestFailure, UPLOAD_GONE } from '../../transfer/failure.ts';
import type { ListedObject, ObjectPlan, ObjectStore, PartBody, PlannedPart, RangeSink, StoredObject, Upload, Written } from '../backend.ts';

/** What a directory store needs. */
export interface DirectoryStoreOptions {
  readonly url: string;
  readonly path: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The folder of uploads in progress below the store's folder. Each is named after its key. */
const UPLOADS = '.holdfast/uploads';
const CHUNK = 1024 * 1024;
/** The folder of claims that a process holds while it replaces a small object. */
const LOCKS = '.holdfast/locks';
const LOCK_PATIENCE_MS = 90_000;
const LOCK_POLL_MS = 50;
/** The age at which a small object in progress counts as left by a dead process. */
const SMALL_STALE_MS = 60_000;

/**
 * Keeps objects as files below a folder: a mounted volume, a portable disk, and the simplest
 * subject of the conformance suite.
 */
export class DirectoryStore implements ObjectStore {
  readonly url: string;
  readonly settings = null;
  /**
   * Every file takes the one route that is noted first, so that a killed copy leaves nothing
   * unknown.
   */
  readonly largestSinglePut = -1;
  readonly #options: DirectoryStoreOptions;

  constructor(options: DirectoryStoreOptions) {
    this.url = options.url;
    this.#options = options;
  }

  async head(key: string): Promise<StoredObject | null> {
    return this.#guard('look at', key, async () => {
      const path = this.#path(key);
      const size = await sizeOf(path);
      if (size === null) return null;
      return { size, version: '', checksum: { kind: 'whole', crc32c: await sumOf(path, this.#options.signal) } };
    });
  }

  async read(key: string, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly version: string } | null> {
    return this.#guard('read', key, async () => {
      const path = this.#path(key);
      const size = await sizeOf(path);
      if (size === null) return null;
      if (size > maxBytes) throw tooLarge(path, size, maxBytes);
      const bytes = await fs.readFile(path);
      return { bytes, version: versionOf(bytes) };
    });
  }

  async readRange(key: string, { offset, size }: { offset: number; size: number }, sink: RangeSink): Promise<void> {
    await this.#guard('read', key, async () => {
      await withFile(this.#path(key), constants.O_RDONLY, async (file) => {
        sink.restart();
        for (let done = 0; done < size; ) {
          this.#options.signal.throwIfAborted();
          const buffer = Buffer.allocUnsafe(Math.min(CHUNK, size - done));
          const { bytesRead } = await file.read(buffer, 0, buffer.length, offset + done);
          if (bytesRead === 0) break;
          await sink.write(buffer.subarray(0, bytesRead));
          done += bytesRead;
        }
      });
    });
  }

  async create(key: string, bytes: Uint8Array): Promise<Written> {
    return this.#guard('write', key, async () => {
      let isTaken = false;
      await this.#withTemporary(key, bytes, async (temporary) => {
        try {
          // A link fails when the name is taken, so no other process can come between check and
          // write.
          await fs.link(temporary, this.#path(key));
        } catch (thrown) {
          // Judge by the name alone: an unreadable folder above it says nothing about the name.
          if (!isCode(thrown, 'EEXIST')) throw thrown;
          isTaken = true;
        }
      });
      if (isTaken) return { isWritten: false };
      await syncFolder(dirname(this.#path(key)));
      return { isWritten: true, version: versionOf(bytes) };
    });
  }

  async replace(key: string, bytes: Uint8Array, version: string): Promise<Written> {
    return this.#guard('replace', key, () =>
      this.#locked(key, async () => {
        const current = await this.read(key, Infinity);
        if (current?.version !== version) return { isWritten: false };
        await this.#withTemporary(key, bytes, (temporary) => fs.rename(temporary, this.#path(key)));
        await syncFolder(dirname(this.#path(key)));
        return { isWritten: true, version: versionOf(bytes) };
      }),
    );
  }

  async putFile(key: string, plan: ObjectPlan, body: PartBody): Promise<void> {
    const upload = await this.openUpload(key, plan);
    for (const part of plan.parts) if (!upload.held.has(part.index)) await upload.putPart(part, body);
    await upload.complete();
  }

  async openUpload(key: string, plan: ObjectPlan): Promise<Upload> {
    const path = join(this.#options.path, UPLOADS, nameOf(key));
    const { signal } = this.#options;
    const held = await this.#guard('begin to write', key, async () => {
      makeLastingFolders(dirname(path));
      return withFile(path, constants.O_RDWR | constants.O_CREAT, (file) => heldParts(file, plan, signal));
    });
    return {
      isOrdered: false,
      held,
      putPart: (part, body) => this.#guard('write', key, () => unlessGone(path, () => copyPart(path, part, body, signal))),
      complete: () => this.#guard('finish', key, () => unlessGone(path, () => finish(path, this.#path(key), plan, this.#options.path))),
    };
  }

  async *list(prefix: string): AsyncGenerator<ListedObject> {
    for (const key of await this.#guard('list', prefix, () => this.#keysBelow(''))) {
      if (!key.startsWith(prefix)) continue;
      const size = await this.#guard('list', key, () => sizeOf(this.#path(key)));
      if (size !== null) yield { key, size };
    }
  }

  /**
   * Lists folder by folder. A folder that another process removes meanwhile, such as a lock, was
   * empty and must not end the listing.
   */
  async #keysBelow(folder: string, keys: string[] = []): Promise<readonly string[]> {
    for (const entry of await entriesIn(this.#path(folder))) {
      const key = `${folder}${entry.name}`;
      if (entry.isFile()) keys.push(key);
      else if (entry.isDirectory() && key !== UPLOADS && key !== LOCKS) await this.#keysBelow(`${key}/`, keys);
    }
    return keys;
  }

  async removeUploads(key: string): Promise<number> {
    return this.#guard('clean up', key, async () => ((await removeFile(join(this.#options.path, UPLOADS, nameOf(key)))) ? 1 : 0));
  }

  async removeOldUploads(olderThanMs: number, spared: ReadonlySet<string>): Promise<number> {
    const folder = join(this.#options.path, UPLOADS);
    const kept = new Set([...spared].map(nameOf));
    return this.#guard('clean up', '', async () => {
      let count = 0;
      for (const name of await namesIn(folder)) {
        if (kept.has(name)) continue;
        const changedMs = await changeOf(join(folder, name));
        // Only uploads can be resumed. A small object in progress of this age is the leftover of a
        // killed process.
        const isUpload = !name.includes('.');
        const oldest = this.#options.clock.now() - (isUpload ? olderThanMs : Math.min(olderThanMs, SMALL_STALE_MS));
        if (changedMs !== null && changedMs < oldest && (await removeFile(join(folder, name))) && isUpload) count++;
      }
      return count;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #path(key: string): string {
    return join(this.#options.path, key);
  }

  /**
   * Writes a small object under a temporary name, for the one step that gives it its final name.
   */
  async #withTemporary(key: string, bytes: Uint8Array, use: (temporary: string) => Promise<void>): Promise<void> {
    makeLastingFolders(dirname(this.#path(key)));
    const temporary = join(this.#options.path, UPLOADS, `${nameOf(key)}.${randomUUID()}`);
    makeLastingFolders(dirname(temporary));
    try {
      await withFile(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, async (file) => {
        await file.writeFile(bytes);
        await file.sync();
      });
      await use(temporary);
    } finally {
      // The next clean-up removes what cannot be removed now.
      await removeFile(temporary).catch(() => false);
    }
  }

  /** Lets processes that replace the same object take turns. */
  async #locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { clock, signal, path } = this.#options;
    makeLastingFolders(dirname(join(path, LOCKS)));
    const claims = openClaims(join(path, LOCKS), { root: path, clock, signal, isStrict: true });
    const patience = clock.monotonic() + LOCK_PATIENCE_MS;
    let claim = claims.tryTake(key);
    for (; claim === null; claim = claims.tryTake(key)) {
      if (clock.monotonic() > patience)
        throw new HoldfastError('REMOTE_UNAVAILABLE', { message: `${printable(this.#path(key))} is being replaced by another process` });
      await clock.sleep(LOCK_POLL_MS, { signal });
    }
    try {
      return await work();
    } finally {
      claim.release();
    }
  }

  async #guard<T>(doing: string, key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw storeError(thrown, doing, join(this.#options.path, key));
    }
  }
}

/**
 * Reports a lost upload when another process on the same folder has finished or removed it; the
 * caller restarts it.
 */
async function unlessGone<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!isCode(thrown, 'ENOENT')) throw thrown;
    const message = `${printable(path)} was removed by another process`;
    const cause = new RequestFailure({ message, reason: UPLOAD_GONE, isTransient: false, cause: thrown });
    throw new HoldfastError('REMOTE_UNAVAILABLE', { message, hint: 'Run the same command again: it continues where it stopped.', cause });
  }
}

function nameOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 40);
}

function versionOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function tooLarge(path: string, size: number, maxBytes: number): HoldfastError {
  return new HoldfastError('REMOTE_INVALID', { message: `${printable(path)} has ${size} bytes, at most ${maxBytes} are read` });
}

/** The time of the last change; null when another process has removed the file. */
async function changeOf(path: string): Promise<number | null> {
  try {
    return (await fs.lstat(path)).mtimeMs;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return null;
    throw thrown;
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    const stat = await fs.lstat(path);
    return stat.isFile() ? stat.size : null;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return null;
    throw thrown;
  }
}

async function sumOf(path: string, signal: AbortSignal): Promise<number> {
  return withFile(path, constants.O_RDONLY, async (file) => (await sumRange(file, { offset: 0, size: Infinity }, signal)) ?? 0);
}

/** Sums a range; null when the file ends before the range does. */
async function sumRange(
  file: fs.FileHandle,
  { offset, size }: { offset: number; size: number },
  signal: AbortSignal,
): Promise<number | null> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  let sum = 0;
  for (let done = 0; done < size; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK, size - done), offset + done);
    if (bytesRead === 0) return size === Infinity ? sum : null;
    sum = crc32c(buffer.subarray(0, bytesRead), sum);
    done += bytesRead;
  }
  return sum;
}

async function heldParts(file: fs.FileHandle, { parts }: ObjectPlan, signal: AbortSignal): Promise<ReadonlySet<number>> {
  const held = new Set<number>();
  const { size } = await file.stat();
  for (const part of parts) {
    if (part.offset + part.size > size) break;
    if ((await sumRange(file, part, signal)) === part.crc32c) held.add(part.index);
  }
  return held;
}

async function copyPart(path: string, part: PlannedPart, { file, limit, onBytes, check }: PartBody, signal: AbortSignal): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(limit.chunkBytes, part.size));
  let [done, sum] = [0, 0];
  await withFile(path, constants.O_RDWR, async (target) => {
    while (done < part.size) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, part.size - done), part.offset + done);
      if (bytesRead === 0) break;
      await limit.take(bytesRead, signal);
      sum = crc32c(buffer.subarray(0, bytesRead), sum);
      for (let at = 0; at < bytesRead; ) at += (await target.write(buffer, at, bytesRead - at, part.offset + done + at)).bytesWritten;
      done += bytesRead;
      onBytes?.(bytesRead);
    }
  });
  if (done === part.size && sum === part.crc32c) return;
  onBytes?.(-done);
  await check?.(part.offset, part.size);
  throw new HoldfastError('CHECKSUM_MISMATCH', { message: `${printable(path)} does not hold what was copied into it` });
}

async function finish(path: string, final: string, { size }: ObjectPlan, root: string): Promise<void> {
  await withFile(path, constants.O_RDWR, async (file) => {
    // An earlier upload of this key may have been longer.
    await file.truncate(size);
    await file.sync();
  });
  makeLastingFolders(dirname(final));
  await fs.rename(path, final);
  // Sync the folders above it, too: another process may have made them without reaching its syncs.
  for (let folder = dirname(final); folder.length >= root.length; folder = dirname(folder)) await syncFolder(folder);
}

async function syncFolder(path: string): Promise<void> {
  await withFile(path, constants.O_RDONLY | constants.O_DIRECTORY, (folder) => folder.sync());
}

/** Opens a file and always closes it. Never follows a link or waits for a pipe. */
async function withFile<T>(path: string, flags: number, work: (file: fs.FileHandle) => Promise<T>): Promise<T> {
  const file = await fs.open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o666);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

async function removeFile(path: string): Promise<boolean> {
  try {
    await fs.unlink(path);
    return true;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return false;
    throw thrown;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await entriesIn(folder)).map(({ name }) => name);
}

/** Lists a folder; empty when there is none. */
async function entriesIn(folder: string): Promise<readonly Dirent[]> {
  try {
    return await fs.readdir(folder, { withFileTypes: true });
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return [];
    throw thrown;
  }
}
