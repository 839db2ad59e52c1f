import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { ALIGNMENT, alignedBlocks } from './aligned-memory.ts';
import { CopyTarget } from './copy-target.ts';

const BYTES = 64 * 1024;

/** Returns two blocks with different bytes. */
function twoBlocks(): readonly [Buffer, Buffer] {
  const [first, second] = alignedBlocks(2, BYTES) as [Buffer, Buffer];
  return [first.fill('a'), second.fill('b')];
}

it.each([true, false])(
  'a copy target is exactly as long as requested, even if only whole pages are written (direct writes: %s)',
  async (isDirect) => {
    using folder = tempFolder();
    const path = join(folder.path, 'state');
    const [first, second] = twoBlocks();
    const size = BYTES + ALIGNMENT + 3;
    const target = new CopyTarget(path, size, { isDirect });
    target.stretch();
    await Promise.all([target.write(second, size - BYTES, BYTES), target.write(first, BYTES, 0)]);
    target.close();
    expect(readFileSync(path).equals(Buffer.concat([first, second]).subarray(0, size))).toBe(true);
  },
);

it('a copy target changes to buffered writes where the file system refuses direct ones', async () => {
  using folder = tempFolder();
  const path = join(folder.path, 'state');
  const [first, second] = twoBlocks();
  const target = new CopyTarget(path, BYTES + 100, { isDirect: true });
  target.stretch();
  // No disk accepts a direct write that begins in the middle of a sector.
  await target.write(first, 100, 0);
  await Promise.all([target.write(second, 1000, 100), target.write(second, BYTES - 1000, 1100)]);
  target.close();
  expect(readFileSync(path).equals(Buffer.concat([first.subarray(0, 100), second]))).toBe(true);
});

it('a copy target never writes into an existing file', () => {
  using folder = tempFolder();
  const path = join(folder.path, 'state');
  writeFileSync(path, 'of somebody else');
  for (const isDirect of [true, false]) expect(() => new CopyTarget(path, BYTES, { isDirect })).toThrow('EEXIST');
  expect(readFileSync(path, 'utf8')).toBe('of somebody else');
});
