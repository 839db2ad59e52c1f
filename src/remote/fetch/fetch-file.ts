import { constants } from 'node:fs';
import { type FileHandle, lstat } from 'node:fs/promises';
import { relative } from 'node:path';
import { openHandleBeneath } from '../../core/beneath.ts';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { PART_BYTES, type SealedFile } from '../../seal/manifest.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { RangeWriter, type RangeWriterOptions } from './range-writer.ts';
import { forEachAtOnce, type Slots } from '../transfer/slots.ts';

/** A request covers this many sealed parts at most. */
const PARTS_PER_RANGE = 8;
/** How often fetch requests a range whose bytes are wrong. */
const MAX_TRIES = 3;

const HINT =
  'Nothing was put in place. Fetch an older checkpoint with --checkpoint, and ship this one again from a place where it is whole.';

/** What the fetch of one file needs. */
export interface FetchFileOptions extends RangeWriterOptions {
  /** The folder of the run; fetch follows no link below it. */
  readonly run: string;
  readonly remote: ObjectStore;
  readonly slots: Slots;
  readonly parallel: number;
}

/**
 * Fetches one file and syncs it. Correct bytes of an earlier run stay; the rest is downloaded and
 * compared with the seal on the way.
 */
export async function fetchFile(path: string, key: string, file: SealedFile, options: FetchFileOptions): Promise<number> {
  await assertOrdinary(path);
  const handle = await openHandleBeneath(
    options.run,
    relative(options.run, path),
    constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK,
  );
  try {
    return await fillFile(handle, key, file, options);
  } catch (thrown) {
    throw await whyNot(thrown, key, file, options);
  } finally {
    await handle.close();
  }
}

/** Errors that a store may also give when an object is missing. */
const UNCLEAR: ReadonlySet<string> = new Set(['REMOTE_INVALID', 'STORE_FAILED', 'PATH_NOT_FOUND', 'PATH_NOT_SUPPORTED']);

/**
 * Finds out why an object cannot be read. Stores answer differently about missing and short
 * objects, so fetch asks for the size.
 */
async function whyNot(thrown: unknown, key: string, { size }: SealedFile, { remote }: FetchFileOptions): Promise<unknown> {
  if (!(thrown instanceof HoldfastError) || !UNCLEAR.has(thrown.code)) return thrown;
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

/** Whether a file holds every sealed byte. */
export async function isWhole(run: string, path: string, file: SealedFile, signal: AbortSignal): Promise<boolean> {
  const found = await lstat(path);
  if (!found.isFile() || found.size !== file.size) return false;
  return (await missingBytes(run, path, file, signal)) === 0;
}

/** How many of the sealed bytes a file lacks. */
export async function missingBytes(run: string, path: string, file: SealedFile, signal: AbortSignal): Promise<number> {
  await assertOrdinary(path);
  const handle = await openHandleBeneath(run, relative(run, path), constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const missing = await missingParts(handle, file, { signal, onBytes() {} });
    return missing.reduce((sum, part) => sum + Math.min(PART_BYTES, file.size - part * PART_BYTES), 0);
  } finally {
    await handle.close();
  }
}

/**
 * Refuses anything but a regular file. An earlier run leaves only those, so fetch never opens
 * anything else.
 */
async function assertOrdinary(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null || found.isFile()) return;
  throw new HoldfastError('PATH_NOT_SUPPORTED', {
    message: `${printable(path)} is in the place of a file to fetch, and is not a regular file`,
    hint: 'Remove it, and run the same command again: nothing is downloaded twice.',
  });
}

async function fillFile(handle: FileHandle, key: string, file: SealedFile, options: FetchFileOptions): Promise<number> {
  const missing = await missingParts(handle, file, options);
  let fetched = 0;
  const stop = new AbortController();
  await forEachAtOnce(ranges(missing), { width: options.parallel, stop }, (range) =>
    options.slots.run(async () => {
      // Another range may have failed for good while this one waited for a slot.
      stop.signal.throwIfAborted();
      options.signal.throwIfAborted();
      // Not `+= await`: that would add to the value from before the wait.
      const bytes = await fetchRange(handle, key, { file, ...range }, options);
      fetched += bytes;
    }, key),
  );
  // An earlier file of the same name may be longer.
  await handle.truncate(file.size);
  await handle.sync();
  return fetched;
}

/** The parts whose bytes are missing or wrong. */
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

/** Groups neighbouring parts into one request. */
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
