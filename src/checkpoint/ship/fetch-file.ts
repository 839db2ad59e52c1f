import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { PART_BYTES, type SealedFile } from '../store/manifest.ts';
import type { ObjectStore } from './backend.ts';
import { RangeWriter, type RangeWriterOptions } from './range-writer.ts';
import { forEachAtOnce, type Slots } from './slots.ts';

/** A request covers this many sealed parts at most. */
const PARTS_PER_RANGE = 8;
/** How often a range whose bytes are wrong is asked for again. */
const MAX_TRIES = 3;

const HINT = 'Nothing was put in place. Fetch an older checkpoint with --checkpoint, and ship this one again from where it is whole.';

export interface FetchFileOptions extends RangeWriterOptions {
  readonly remote: ObjectStore;
  readonly slots: Slots;
  readonly parallel: number;
}

/** Brings one file: what an earlier run left and is right stays, the rest is downloaded, compared with the seal on the way, and synced. */
export async function fetchFile(path: string, key: string, file: SealedFile, options: FetchFileOptions): Promise<number> {
  await assertOrdinary(path);
  const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o666);
  try {
    return await fillFile(handle, key, file, options);
  } catch (thrown) {
    throw await whyNot(thrown, key, file, options);
  } finally {
    await handle.close();
  }
}

/** What a store says of an object that is not there, or that is shorter, differs from one to the next: it is asked plainly. */
async function whyNot(thrown: unknown, key: string, { size }: SealedFile, { remote }: FetchFileOptions): Promise<unknown> {
  if (!(thrown instanceof HoldfastError) || (thrown.code !== 'REMOTE_INVALID' && thrown.code !== 'STORE_FAILED')) return thrown;
  const stored = await remote.head(key).catch(() => undefined);
  if (stored === undefined || stored?.size === size) return thrown;
  const where = printable(`${remote.url}/${key}`);
  return stored === null
    ? new HoldfastError('REMOTE_NOT_FOUND', {
        message: `${where} is missing, although its checkpoint was shipped whole`,
        hint: HINT,
        cause: thrown,
      })
    : new HoldfastError('CHECKSUM_MISMATCH', {
        message: `${where} has ${stored.size} bytes, ${size} were sealed`,
        hint: HINT,
        cause: thrown,
      });
}

/** Whether a file is there with all the bytes that were sealed. */
export async function isWhole(path: string, file: SealedFile, signal: AbortSignal): Promise<boolean> {
  const found = await lstat(path);
  if (!found.isFile() || found.size !== file.size) return false;
  return (await missingBytes(path, file, signal)) === 0;
}

/** How many of the bytes that were sealed a file has not. */
export async function missingBytes(path: string, file: SealedFile, signal: AbortSignal): Promise<number> {
  await assertOrdinary(path);
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const missing = await missingParts(handle, file, { signal, onBytes() {} });
    return missing.reduce((sum, part) => sum + Math.min(PART_BYTES, file.size - part * PART_BYTES), 0);
  } finally {
    await handle.close();
  }
}

/** What an earlier run left is a file; anything else was put there by somebody else, and is not opened. */
async function assertOrdinary(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null || found.isFile()) return;
  throw new HoldfastError('PATH_NOT_SUPPORTED', {
    message: `${printable(path)} lies where a file is to be fetched to, and is none`,
    hint: 'Remove it, and run the same command again: nothing is downloaded twice.',
  });
}

async function fillFile(handle: FileHandle, key: string, file: SealedFile, options: FetchFileOptions): Promise<number> {
  const missing = await missingParts(handle, file, options);
  let fetched = 0;
  const stop = new AbortController();
  await forEachAtOnce(ranges(missing), { width: options.parallel, stop }, (range) =>
    options.slots.run(async () => {
      // Whoever has waited for a place while another range of the file failed for good.
      stop.signal.throwIfAborted();
      options.signal.throwIfAborted();
      // Not `+= await`: that would add to what it was before the wait.
      const bytes = await fetchRange(handle, key, { file, ...range }, options);
      fetched += bytes;
    }, key),
  );
  // An earlier, longer file of the same name.
  await handle.truncate(file.size);
  await handle.sync();
  return fetched;
}

/** Parts that are not there with the right bytes. */
async function missingParts(
  handle: FileHandle,
  file: SealedFile,
  { signal, onBytes }: Pick<FetchFileOptions, 'signal' | 'onBytes'>,
): Promise<number[]> {
  const { size } = await handle.stat();
  const missing: number[] = [];
  const buffer = size > 0 ? Buffer.allocUnsafe(Math.min(PART_BYTES, size)) : null;
  for (const [index, expected] of file.crc32c.entries()) {
    signal.throwIfAborted();
    const offset = index * PART_BYTES;
    const length = Math.min(PART_BYTES, file.size - offset);
    const isThere = buffer !== null && offset + length <= size && (await sumAt(handle, buffer.subarray(0, length), offset)) === expected;
    if (isThere) onBytes(length);
    else missing.push(index);
  }
  return missing;
}

async function sumAt(handle: FileHandle, buffer: Buffer, offset: number): Promise<string | null> {
  let got = 0;
  while (got < buffer.length) {
    const { bytesRead } = await handle.read(buffer, got, buffer.length - got, offset + got);
    if (bytesRead === 0) return null;
    got += bytesRead;
  }
  return hex32(crc32c(buffer));
}

interface PartRange {
  readonly first: number;
  readonly count: number;
}

/** Neighbours are asked for together. */
function ranges(parts: readonly number[]): PartRange[] {
  const found: { first: number; count: number }[] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (last !== undefined && last.first + last.count === part && last.count < PARTS_PER_RANGE) last.count++;
    else found.push({ first: part, count: 1 });
  }
  return found;
}

async function fetchRange(
  handle: FileHandle,
  key: string,
  { file, first, count }: PartRange & { file: SealedFile },
  options: FetchFileOptions,
): Promise<number> {
  const { remote } = options;
  const offset = first * PART_BYTES;
  const size = Math.min(count * PART_BYTES, file.size - offset);
  for (let tries = 1; ; tries++) {
    const writer = new RangeWriter(handle, { offset, size }, options);
    try {
      await remote.readRange(key, { offset, size }, writer);
      await writer.flush();
    } finally {
      await writer.close();
    }
    const wrong = writer.sums.findIndex((sum, index) => sum !== file.crc32c[first + index]);
    if (writer.received === size && wrong < 0) return size;
    writer.restart();
    if (tries >= MAX_TRIES) throw mismatch(`${remote.url}/${key}`, offset + Math.max(0, wrong) * PART_BYTES);
  }
}

function mismatch(where: string, offset: number): HoldfastError {
  return new HoldfastError('CHECKSUM_MISMATCH', {
    message: `${printable(where)} does not have the bytes that were sealed, from ${offset} on`,
    hint: HINT,
  });
}
