import { existsSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../support/run-command.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

it('a trainer is not started from nothing while its run has checkpoints of which none is good', async () => {
  using folder = tempFolder();
  const [dir, started] = [join(folder.path, 'run'), join(folder.path, 'started')];
  mkdirSync(join(dir, 'step-5'), { recursive: true });
  writeFileSync(join(dir, 'step-5/state'), 'everything');
  expect((await runCommand(['seal', '--accept=anything', join(dir, 'step-5')])).code).toBe(0);
  truncateSync(join(dir, 'step-5/state'), 3);
  const run = () => new Supervised({ args: ['--dir', dir], command: ['touch', started] }).ended;
  // Once while it is found bad, once when it lies in quarantine.
  for (const reason of ['step-5 was not taken', 'none of them is good']) {
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain(reason);
    expect(stderr).toContain('NO_LAST_GOOD');
    expect(existsSync(started)).toBe(false);
  }
  expect((await runCommand(['rollback', dir, '--fresh'])).code).toBe(0);
  expect((await run()).code).toBe(0);
  expect(existsSync(started)).toBe(true);
});
