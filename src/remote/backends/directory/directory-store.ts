import { createHash, randomUUID } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../core/clock.ts';
import { crc32c } from '../../../core/checksums.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import { isCode, storeError } from '../../../store/disk/store-error.ts';
import { openClaims } from '../../claim/claims.ts';
import { syncFolder, withFile } from './file-handles.ts';
import { StoreFolder } from './store-folder.ts';
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
  readonly #folder: StoreFolder;

  constructor(options: DirectoryStoreOptions) {
    this.url = options.url;
    this.#options = options;
    this.#folder = new StoreFolder(options.path);
  }

  async head(key: string): Promise<StoredObject | null> {
    return this.#guard('look at', key, () =>
      this.#ifThere(key, async (path, size) => ({
        size,
        version: '',
        checksum: { kind: 'whole', crc32c: await sumOf(path, this.#options.signal) },
      })),
    );
  }

  async read(key: string, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly version: string } | null> {
    return this.#guard('read', key, () =>
      this.#ifThere(key, async (path, size) => {
        if (size > maxBytes) throw tooLarge(this.#path(key), size, maxBytes);
        const bytes = await withFile(path, constants.O_RDONLY, (file) => file.readFile());
        return { bytes, version: versionOf(bytes) };
      }),
    );
  }

  async readRange(key: string, { offset, size }: { offset: number; size: number }, sink: RangeSink): Promise<void> {
    const read = async (file: fs.FileHandle): Promise<void> => {
      sink.restart();
      for (let done = 0; done < size; ) {
        this.#options.signal.throwIfAborted();
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK, size - done));
        const { bytesRead } = await file.read(buffer, 0, buffer.length, offset + done);
        if (bytesRead === 0) break;
        await sink.write(buffer.subarray(0, bytesRead));
        done += bytesRead;
      }
    };
    await this.#guard('read', key, () => this.#folder.at(key, (path) => withFile(path, constants.O_RDONLY, read)));
  }

  async create(key: string, bytes: Uint8Array): Promise<Written> {
    return this.#guard('write', key, async () => {
      let isTaken = false;
      await this.#withTemporary(key, bytes, async (temporary) => {
        try {
          // A link fails when the name is taken, so no other process can come between check and
          // write.
          await this.#folder.at(key, (path) => fs.link(temporary, path));
        } catch (thrown) {
          // Judge by the name alone: an unreadable folder above it says nothing about the name.
          if (!isCode(thrown, 'EEXIST')) throw thrown;
          isTaken = true;
        }
      });
      if (isTaken) return { isWritten: false };
      await this.#syncFolderOf(key);
      return { isWritten: true, version: versionOf(bytes) };
    });
  }

  async replace(key: string, bytes: Uint8Array, version: string): Promise<Written> {
    return this.#guard('replace', key, () =>
      this.#locked(key, async () => {
        const current = await this.read(key, Infinity);
        if (current?.version !== version) return { isWritten: false };
        await this.#withTemporary(key, bytes, (temporary) => this.#folder.at(key, (path) => fs.rename(temporary, path)));
        await this.#syncFolderOf(key);
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
    const upload = uploadOf(key);
    const shown = this.#path(upload);
    const { signal } = this.#options;
    const held = await this.#guard('begin to write', key, async () => {
      await this.#folder.makeFolderOf(upload);
      const flags = constants.O_RDWR | constants.O_CREAT;
      return this.#folder.at(upload, (path) => withFile(path, flags, (file) => heldParts(file, plan, signal)));
    });
    const put = (part: PlannedPart, body: PartBody): Promise<void> =>
      this.#folder.at(upload, (path) => withFile(path, constants.O_RDWR, (target) => copyPart({ target, shown }, part, body, signal)));
    return {
      isOrdered: false,
      held,
      putPart: (part, body) => this.#guard('write', key, () => unlessGone(shown, () => put(part, body))),
      complete: () => this.#guard('finish', key, () => unlessGone(shown, () => this.#finish(key, plan))),
    };
  }

  async *list(prefix: string): AsyncGenerator<ListedObject> {
    for (const key of await this.#guard('list', prefix, () => this.#keysBelow(''))) {
      if (!key.startsWith(prefix)) continue;
      const size = await this.#guard('list', key, () => this.#ifThere(key, (_, found) => Promise.resolve(found)));
      if (size !== null) yield { key, size };
    }
  }

  /**
   * Lists folder by folder. A folder that another process removes meanwhile, such as a lock, was
   * empty and must not end the listing.
   */
  async #keysBelow(folder: string, keys: string[] = []): Promise<readonly string[]> {
    for (const entry of await this.#entriesIn(folder)) {
      const key = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile()) keys.push(key);
      else if (entry.isDirectory() && key !== UPLOADS && key !== LOCKS) await this.#keysBelow(key, keys);
    }
    return keys;
  }

  async removeUploads(key: string): Promise<number> {
    return this.#guard('clean up', key, async () => ((await this.#remove(uploadOf(key))) ? 1 : 0));
  }

  async removeOldUploads(olderThanMs: number, spared: ReadonlySet<string>): Promise<number> {
    const kept = new Set([...spared].map(nameOf));
    return this.#guard('clean up', '', async () => {
      let count = 0;
      for (const { name } of await this.#entriesIn(UPLOADS)) {
        if (kept.has(name)) continue;
        const changedMs = await this.#changeOf(`${UPLOADS}/${name}`);
        // Only uploads can be resumed. A small object in progress of this age is the leftover of a
        // killed process.
        const isUpload = !name.includes('.');
        const oldest = this.#options.clock.now() - (isUpload ? olderThanMs : Math.min(olderThanMs, SMALL_STALE_MS));
        if (changedMs !== null && changedMs < oldest && (await this.#remove(`${UPLOADS}/${name}`)) && isUpload) count++;
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
    const temporary = `${uploadOf(key)}.${randomUUID()}`;
    for (const one of [key, temporary]) await this.#folder.makeFolderOf(one);
    const write = async (file: fs.FileHandle): Promise<void> => {
      await file.writeFile(bytes);
      await file.sync();
    };
    try {
      await this.#folder.at(temporary, async (path) => {
        await withFile(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, write);
        await use(path);
      });
    } finally {
      // The next clean-up removes what cannot be removed now.
      await this.#remove(temporary).catch(() => false);
    }
  }

  /** Lets processes that replace the same object take turns. */
  async #locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { clock, signal, path } = this.#options;
    await this.#folder.makeFolderOf(LOCKS);
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

  /** Calls `use` with the path and the size of an object; null when there is none. */
  async #ifThere<T>(key: string, use: (path: string, size: number) => Promise<T>): Promise<T | null> {
    return unlessMissing(() =>
      this.#folder.at(key, async (path) => {
        const stat = await fs.lstat(path);
        return stat.isFile() ? use(path, stat.size) : null;
      }),
    );
  }

  /** Lists a folder; empty when there is none. */
  async #entriesIn(folder: string): Promise<readonly Dirent[]> {
    return (await unlessMissing(() => this.#folder.into(folder, (path) => fs.readdir(path, { withFileTypes: true })))) ?? [];
  }

  /** The time of the last change; null when another process has removed the file. */
  async #changeOf(key: string): Promise<number | null> {
    return unlessMissing(() => this.#folder.at(key, async (path) => (await fs.lstat(path)).mtimeMs));
  }

  async #remove(key: string): Promise<boolean> {
    return (await unlessMissing(() => this.#folder.at(key, (path) => fs.unlink(path).then(() => true)))) ?? false;
  }

  async #syncFolderOf(key: string): Promise<void> {
    await this.#folder.into(key.slice(0, Math.max(key.lastIndexOf('/'), 0)), syncFolder);
  }

  async #finish(key: string, { size }: ObjectPlan): Promise<void> {
    const upload = uploadOf(key);
    await this.#folder.makeFolderOf(key);
    await this.#folder.at(upload, async (path) => {
      await withFile(path, constants.O_RDWR, async (file) => {
        // An earlier upload of this key may have been longer.
        await file.truncate(size);
        await file.sync();
      });
      await this.#folder.at(key, (final) => fs.rename(path, final));
    });
    await this.#folder.syncFoldersOf(key);
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

/** Null where nothing is, or something that is no folder lies on the way. */
async function unlessMissing<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return null;
    throw thrown;
  }
}

/** The file of an upload in progress. */
function uploadOf(key: string): string {
  return `${UPLOADS}/${nameOf(key)}`;
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

interface CopyTo {
  readonly target: fs.FileHandle;
  /** The path for people. */
  readonly shown: string;
}

async function copyPart(
  { target, shown }: CopyTo,
  part: PlannedPart,
  { file, limit, onBytes, check }: PartBody,
  signal: AbortSignal,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(limit.chunkBytes, part.size));
  let [done, sum] = [0, 0];
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
  if (done === part.size && sum === part.crc32c) return;
  onBytes?.(-done);
  await check?.(part.offset, part.size);
  throw new HoldfastError('CHECKSUM_MISMATCH', { message: `${printable(shown)} does not hold what was copied into it` });
}
