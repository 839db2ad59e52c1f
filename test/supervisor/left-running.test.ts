import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RUNS } from '../support/marked-processes.ts';
import { isAlive, Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { trainerPid } from '../support/trainer-process.ts';

it.runIf(process.platform === 'linux')(
  'what a test has left running is ended with its file, also what outlives its supervisor',
  async () => {
    using folder = tempFolder();
    const runs = ['killed', 'left'].map((name) => {
      const dir = join(folder.path, name);
      return { dir, run: new Supervised({ args: ['--dir', dir], command: trainerCommand('ignores', 'sdk') }) };
    });
    await Promise.all(runs.map(({ run }) => run.line(/^ready/)));
    const pids = await Promise.all(runs.map(({ dir }) => trainerPid(dir)));
    runs[0]?.run.kill();
    await runs[0]?.run.died;
    expect(pids.map(isAlive)).toEqual([true, true]);
    await RUNS.end();
    // Nobody is left who could print; who has closed its pipes is about to be gone.
    await Promise.all(runs.map(({ run }) => run.ended));
    while (pids.some(isAlive)) await new Promise((resolve) => setImmediate(resolve));
  },
);
