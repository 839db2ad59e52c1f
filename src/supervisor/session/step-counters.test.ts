import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import type { Rank } from '../sdk/sdk-server.ts';
import { StepCounters } from './step-counters.ts';

const rank: Rank = { rank: 0, world: 1, pid: 1, dumpSignal: null, send: () => {} };

it('a step counter reads null before the first step, then the newest step, and null after its rank has left', () => {
  using folder = tempFolder();
  const counters = new StepCounters(folder.path);
  const file = counters.open(rank) ?? '';
  expect(counters.read(rank)).toBe(null);
  writeFileSync(file, new BigInt64Array([57n]));
  expect(counters.read(rank)).toBe(57);
  counters.close(rank);
  expect([counters.read(rank), existsSync(file)]).toEqual([null, false]);
});

it.each<[string, (file: string) => void]>([
  ['is shorter', (file) => truncateSync(file, 3)],
  ['is longer', (file) => truncateSync(file, 1 << 20)],
  ['is gone', (file) => rmSync(file)],
  ['holds no step', (file) => writeFileSync(file, new BigInt64Array([-9_007_199_254_740_993n]))],
  ['is a pipe', (file) => (rmSync(file), execFileSync('mkfifo', [file]))],
  ['is a link to a device', (file) => (rmSync(file), symlinkSync('/dev/zero', file))],
])('a step counter that a trainer has changed so that it %s reads null', (_, change) => {
  using folder = tempFolder();
  const counters = new StepCounters(folder.path);
  change(counters.open(rank) ?? '');
  expect(counters.read(rank)).toBe(null);
});

it('a rank gets no step counter when none can be created', () => {
  using folder = tempFolder();
  expect(new StepCounters(join(folder.path, 'nowhere')).open(rank)).toBe(null);
  expect(new StepCounters(null).open(rank)).toBe(null);
});
