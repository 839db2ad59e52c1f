import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { LAUNCHER } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const ROUNDS = 15;

const elapsed = (file: string, args: readonly string[]): number => {
  const start = performance.now();
  execFileSync(file, args, { env: { PATH: process.env['PATH'] } });
  return performance.now() - start;
};

it('holdfast --version takes at most twice the time of an empty start of Node', () => {
  using dir = tempFolder();
  const empty = join(dir.path, 'empty.mjs');
  writeFileSync(empty, '');
  elapsed(LAUNCHER, ['--version']);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    theirs.push(elapsed(process.execPath, [empty]));
    ours.push(elapsed(LAUNCHER, ['--version']));
  }
  // The fastest of several interleaved runs says what the code costs; the others say what else the machine did.
  expect(Math.min(...ours) / Math.min(...theirs)).toBeLessThanOrEqual(2);
});
