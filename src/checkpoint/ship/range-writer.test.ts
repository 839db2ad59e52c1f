import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { VirtualClock } from '../../core/clock.ts';
import { PART_BYTES } from '../store/manifest.ts';
import { limitRate, UNLIMITED } from './rate-limit.ts';
import { BlockPool, RangeWriter } from './range-writer.ts';

const SIZE = PART_BYTES + 1_234_567;
const bytes = randomBytes(SIZE);
const sums = [bytes.subarray(0, PART_BYTES), bytes.subarray(PART_BYTES)].map((part) => hex32(crc32c(part)));

async function writerIn(folder: string, offset = 0) {
  const handle = await open(join(folder, 'file'), 'w+');
  const told = { bytes: 0 };
  const options = {
    blocks: new BlockPool(),
    limit: UNLIMITED,
    signal: new AbortController().signal,
    onBytes: (count: number) => void (told.bytes += count),
  };
  return { handle, told, writer: new RangeWriter(handle, { offset, size: SIZE }, options), [Symbol.asyncDispose]: () => handle.close() };
}

/** Puts bytes in as a connection does that reads so many at a time. */
async function put(writer: RangeWriter, from: Buffer, step: number): Promise<void> {
  for (let at = 0; at < from.length; ) {
    const count = from.copy(writer.room(), 0, at, Math.min(from.length, at + step));
    at += count;
    await writer.filled(count);
  }
}

it.each([1000, 70_001, SIZE])('writes what is put into it at its place, %i bytes at a time, and sums it up by parts', async (step) => {
  using folder = tempFolder();
  await using way = await writerIn(folder.path, 1000);
  await put(way.writer, bytes, step);
  await way.writer.flush();
  await way.writer.close();
  expect(way.writer.sums).toEqual(sums);
  expect(way.told.bytes).toBe(SIZE);
  expect(readFileSync(join(folder.path, 'file')).subarray(1000).equals(bytes)).toBe(true);
});

it('takes bytes from somebody else’s memory as well', async () => {
  using folder = tempFolder();
  await using way = await writerIn(folder.path);
  for (let at = 0; at < SIZE; at += 65_536) await way.writer.write(bytes.subarray(at, at + 65_536));
  await way.writer.flush();
  expect(way.writer.sums).toEqual(sums);
  expect(readFileSync(join(folder.path, 'file')).equals(bytes)).toBe(true);
  await expect(way.writer.write(Buffer.from('x'))).rejects.toThrow('more bytes than were asked for');
});

it('bytes that come although they were asked to wait are put over no others', async () => {
  using folder = tempFolder();
  await using way = await writerIn(folder.path);
  let waits = 0;
  for (let at = 0; at < SIZE; ) {
    const count = bytes.copy(way.writer.room(), 0, at, Math.min(SIZE, at + 16_384));
    at += count;
    if (way.writer.filled(count) !== null) waits++;
  }
  expect(waits).toBeGreaterThan(0);
  await way.writer.flush();
  expect(way.writer.sums).toEqual(sums);
  expect(readFileSync(join(folder.path, 'file')).equals(bytes)).toBe(true);
});

it('nothing of an earlier try lands on a later one', async () => {
  using folder = tempFolder();
  await using way = await writerIn(folder.path);
  for (let tries = 0; tries < 5; tries++) {
    // Wrong bytes, some of which are still on their way to the file when the next try begins.
    const wrong = Buffer.alloc(3_000_000, tries + 1);
    for (let at = 0; at < wrong.length; ) {
      const count = wrong.copy(way.writer.room(), 0, at);
      at += count;
      const wait = way.writer.filled(count);
      if (wait !== null) break;
    }
    way.writer.restart();
  }
  await put(way.writer, bytes, 300_000);
  await way.writer.flush();
  await way.writer.close();
  expect(way.writer.sums).toEqual(sums);
  expect(way.told.bytes).toBe(SIZE);
  expect(readFileSync(join(folder.path, 'file')).equals(bytes)).toBe(true);
});

it('a file that cannot be written is told at the end at the latest', async () => {
  using folder = tempFolder();
  const way = await writerIn(folder.path);
  await way.handle.close();
  await expect(put(way.writer, bytes, 300_000).then(() => way.writer.flush())).rejects.toMatchObject({ code: 'EBADF' });
  await way.writer.close();
});

it('bytes whose rate is limited are asked for one by one', async () => {
  using folder = tempFolder();
  const handle = await open(join(folder.path, 'file'), 'w+');
  const options = { blocks: new BlockPool(), signal: new AbortController().signal, onBytes: () => {} };
  const range = { offset: 0, size: SIZE };
  expect(new RangeWriter(handle, range, { ...options, limit: UNLIMITED }).direct).toBeDefined();
  expect(new RangeWriter(handle, range, { ...options, limit: limitRate(1000, new VirtualClock()) }).direct).toBeUndefined();
  await handle.close();
});
