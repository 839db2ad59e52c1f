import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { flipBit } from './flip-bit.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-flip-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it.each([
  ['{"slope": 2.5, "offset": 1}', '{"slope": 3.5, "offset": 1}'],
  ['{"slope": -0.25}', '{"slope": -1.25}'],
])('changes one bit, and the file stays valid: %s', (before, after) => {
  const path = join(folder, 'state.json');
  writeFileSync(path, before);
  flipBit(path);
  expect(readFileSync(path, 'utf8')).toBe(after);
});

it('refuses a file without a slope', () => {
  const path = join(folder, 'state.json');
  writeFileSync(path, '{}');
  expect(() => flipBit(path)).toThrow('no slope');
});
