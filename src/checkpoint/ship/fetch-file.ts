import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { PART_BYTES, type SealedFile } from '../store/manifest.ts';
import type { ObjectStore } from './backend.ts';
import type { RateLimit } from './rate-limit.ts';
import { forEachAtOnce, type Slots } from './slots.ts';

/** A request covers this many sealed parts at most. */
const PARTS_PER_RANGE = 4;
/** How often a range whose bytes are wrong is asked for again. */
const MAX_TRIES = 3;
/** Small pieces off the network are put together before they are written. */
const WRITE_BYTES = 1024 * 1024;

export interface FetchFileOptions {
  readonly remote: ObjectStore;
  readonly slots: Slots;
  readonly parallel: number;
  readonly limit: RateLimit;
  readonly signal: AbortSignal;
  readonly onBytes: (bytes: number) => void;
}

/** Brings one file: what an earlier run left and is right stays, the rest is downloaded, compared with the seal on the way, and synced. */
export async function fetchFile(path: string, key: string, file: SealedFile, options: FetchFileOptions): Promise<number> {
  const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o666);
  try {
    return await fillFile(handle, key, file, options);
  } finally {
    await handle.close();
  }
}

async function fillFile(handle: FileHandle, key: string, file: SealedFile, options: FetchFileOptions): Promise<number> {
  const missing = await missingParts(handle, file, options);
  let fetched = 0;
  await forEachAtOnce(ranges(missing), { width: options.parallel, stop: new AbortController() }, (range) =>
    options.slots.run(async () => {
      // Not `+= await`: that would add to what it was before the wait.
      const bytes = await fetchRange(handle, key, { file, ...range }, options);
      fetched += bytes;
    }),
  );
  // An earlier, longer file of the same name.
  await handle.truncate(file.size);
  await handle.sync();
  return fetched;
}

/** Parts that are not there with the right bytes. */
async function missingParts(handle: FileHandle, file: SealedFile, { signal, onBytes }: FetchFileOptions): Promise<number[]> {
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
    await remote.readRange(key, { offset, size }, writer);
    await writer.flush();
    const wrong = writer.sums.findIndex((sum, index) => sum !== file.crc32c[first + index]);
    if (writer.received === size && wrong < 0) return size;
    writer.restart();
    if (tries >= MAX_TRIES) throw mismatch(`${remote.url}/${key}`, offset + Math.max(0, wrong) * PART_BYTES);
  }
}

function mismatch(where: string, offset: number): HoldfastError {
  return new HoldfastError('CHECKSUM_MISMATCH', {
    message: `${printable(where)} does not have the bytes that were sealed, from ${offset} on`,
    hint: 'Nothing was put in place. Fetch an older checkpoint with --checkpoint, and ship this one again from where it is whole.',
  });
}

/** Writes what comes into the file, at its place, and sums it up part by part. */
class RangeWriter {
  received = 0;
  sums: string[] = [];
  #sum = 0;
  #held = 0;
  #buffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #spare = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #writing: Promise<void> = Promise.resolve();
  readonly #handle: FileHandle;
  readonly #range: { readonly offset: number; readonly size: number };
  readonly #options: FetchFileOptions;

  constructor(handle: FileHandle, range: { readonly offset: number; readonly size: number }, options: FetchFileOptions) {
    this.#handle = handle;
    this.#range = range;
    this.#options = options;
  }

  /** A new try: what came before is void. */
  restart(): void {
    this.#options.onBytes(-this.received);
    this.received = 0;
    this.sums = [];
    this.#sum = 0;
    this.#held = 0;
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.received + bytes.length > this.#range.size)
      throw new HoldfastError('REMOTE_INVALID', { message: 'the store sent more bytes than were asked for' });
    await this.#options.limit.take(bytes.length, this.#options.signal);
    this.#options.onBytes(bytes.length);
    for (let at = 0; at < bytes.length; ) {
      const room = Math.min(WRITE_BYTES - this.#held, bytes.length - at);
      bytes.copy(this.#buffer, this.#held, at, at + room);
      this.#held += room;
      this.received += room;
      at += room;
      if (this.#held === WRITE_BYTES) await this.#writeOut();
    }
  }

  async flush(): Promise<void> {
    if (this.#held > 0) await this.#writeOut();
    await this.#writing;
    if (this.received % PART_BYTES !== 0) this.sums.push(hex32(this.#sum));
  }

  /** One buffer is written while the other is filled. Parts end where a buffer does. */
  async #writeOut(): Promise<void> {
    await this.#writing;
    const full = this.#buffer.subarray(0, this.#held);
    const position = this.#range.offset + this.received - this.#held;
    this.#sum = crc32c(full, this.#sum);
    if (this.received % PART_BYTES === 0) {
      this.sums.push(hex32(this.#sum));
      this.#sum = 0;
    }
    [this.#buffer, this.#spare] = [this.#spare, this.#buffer];
    this.#held = 0;
    this.#writing = writeAll(this.#handle, full, position);
    // Seen by whoever waits for it next.
    this.#writing.catch(() => {});
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
}
