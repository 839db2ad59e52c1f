import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isAlive, Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

describe.skipIf(process.platform !== 'linux')('the folder of a socket', () => {
  it('of a killed supervisor is removed by the next one, and the folder of a running supervisor stays', async () => {
    using folder = tempFolder();
    const [temporary, enough] = [join(folder.path, 'tmp'), join(folder.path, 'enough')];
    mkdirSync(temporary);
    const started: Supervised[] = [];
    const start = async (name: string): Promise<Supervised> => {
      const run = new Supervised({
        args: ['--dir', join(folder.path, name)],
        command: trainerCommand('dies', 'sdk', { until: enough }),
        env: { TMPDIR: temporary },
      });
      started.push(run);
      await run.line(/^ready/);
      return run;
    };
    try {
      const killed = await start('killed');
      const [left] = readdirSync(temporary);
      const { pid } = killed;
      killed.kill();
      while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
      // The supervisor sweeps before the trainer can attach.
      await start('living');
      const [own, ...others] = readdirSync(temporary);
      expect([own === left, others]).toEqual([false, []]);
      await start('third');
      expect(readdirSync(temporary)).toContain(own);
    } finally {
      // The trainer of the killed supervisor continues training until it reports that it is done.
      writeFileSync(enough, '');
      await Promise.all(started.map(({ ended }) => ended));
    }
    expect(readdirSync(temporary)).toEqual([]);
  });
});
