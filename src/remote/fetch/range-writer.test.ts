import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { VirtualClock } from '../../core/clock.ts';
import { PART_BYTES } from '../../seal/manifest.ts';
import { limitRate, type RateLimit, UNLIMITED } from '../transfer/rate-limit.ts';
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

/** Writes bytes as a connection does that reads this many at a time. */
async function put(writer: RangeWriter, from: Buffer, step: number): Promise<void> {
  for (let at = 0; at < from.length; at += step) await writer.write(from.subarray(at, at + step));
}

it.each([1000, 70_001, SIZE])('a range writer writes its bytes at their place, %i at a time, and sums them by parts', async (step) => {
  using folder = tempFolder();
  await using way = await writerIn(folder.path, 1000);
  await put(way.writer, bytes, step);
  await way.writer.flush();
  await way.writer.close();
  expect(way.writer.sums).toEqual(sums);
  expect(way.told.bytes).toBe(SIZE);
  expect(readFileSync(join(folder.path, 'file')).subarray(1000).equals(bytes)).toBe(true);
});

it('a range writer takes no more bytes than the range has', async () => {
  using folder = tempFolder();
  await using way = await writerIn(folder.path);
  await put(way.writer, bytes, 65_536);
  await expect(way.writer.write(Buffer.from('x'))).rejects.toThrow('more bytes than were asked for');
  await way.writer.close();
});

it('bytes of an earlier try never overwrite bytes of a later one', async () => {
  using folder = tempFolder();
  await using way = await writerIn(folder.path);
  for (let tries = 0; tries < 5; tries++) {
    // Wrong bytes; some are still being written when the next try begins.
    await way.writer.write(Buffer.alloc(3_000_000, tries + 1));
    way.writer.restart();
  }
  await put(way.writer, bytes, 300_000);
  await way.writer.flush();
  await way.writer.close();
  expect(way.writer.sums).toEqual(sums);
  expect(way.told.bytes).toBe(SIZE);
  expect(readFileSync(join(folder.path, 'file')).equals(bytes)).toBe(true);
});

it('a range writer reports at the end that its file cannot be written', async () => {
  using folder = tempFolder();
  const way = await writerIn(folder.path);
  await way.handle.close();
  await expect(put(way.writer, bytes, 300_000).then(() => way.writer.flush())).rejects.toMatchObject({ code: 'EBADF' });
  await way.writer.close();
});

it.each([
  ['a large range', true, {}],
  ['a small range', false, { size: 1000 }],
  ['a limited rate', false, { limit: limitRate(1000, new VirtualClock()) }],
  ['a range of which an ordinary answer has brought some', false, { isBegun: true }],
])('%s may be written by other threads: %j', async (_, expected, { size = SIZE, limit = UNLIMITED, isBegun = false }: Partial<Offer>) => {
  using folder = tempFolder();
  await using handle = await open(join(folder.path, 'file'), 'w+');
  const options = { blocks: new BlockPool(), signal: new AbortController().signal, onBytes: () => {}, limit };
  const writer = new RangeWriter(handle, { offset: 0, size }, options);
  if (isBegun) {
    await writer.write(Buffer.from('some'));
    writer.restart();
  }
  expect(writer.file !== undefined).toBe(expected);
  await writer.close();
});

interface Offer {
  readonly size: number;
  readonly limit: RateLimit;
  readonly isBegun: boolean;
}
