import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bash, LAUNCHER, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const ROUNDS = 10;

/**
 * Processor time of a command line in milliseconds. Unlike the time on the wall it does not grow
 * with the load of the machine.
 */
async function cost(line: string): Promise<number> {
  const { stderr } = await bash(`TIMEFORMAT='%U %S'; time ${line} > /dev/null`);
  const [user = NaN, system = NaN] = stderr.trim().split(' ').map(Number);
  return 1000 * (user + system);
}

it('holdfast --version costs at most twice an empty start of Node', async () => {
  using folder = tempFolder();
  const empty = join(folder.path, 'empty.mjs');
  writeFileSync(empty, '');
  // The first start after a change strips the types and fills the cache.
  await runProcess(LAUNCHER, ['--version']);
  let [ours, theirs] = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round++) {
    theirs = Math.min(theirs, await cost(`${process.execPath} ${empty}`));
    ours = Math.min(ours, await cost(`${LAUNCHER} --version`));
  }
  expect(ours / theirs).toBeLessThanOrEqual(2);
});
