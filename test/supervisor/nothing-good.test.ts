import { closeSync, existsSync, mkdirSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { runCommand } from '../support/run-command.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

it('a trainer does not start from nothing if its run has checkpoints and none is good', async () => {
  using folder = tempFolder();
  const [dir, started] = [join(folder.path, 'run'), join(folder.path, 'started')];
  mkdirSync(join(dir, 'step-5'), { recursive: true });
  writeFileSync(join(dir, 'step-5/state'), 'everything');
  expect((await runCommand(['seal', '--accept=anything', join(dir, 'step-5')])).code).toBe(0);
  truncateSync(join(dir, 'step-5/state'), 3);
  const run = () => new Supervised({ args: ['--dir', dir], command: ['touch', started] }).ended;
  // Once when `resume` finds it bad, once when it is in quarantine.
  for (const reason of ['step-5 was not taken', 'has checkpoints, but none is good enough to resume from']) {
    const { code, stderr } = await run();
    expect(code).toBe(65);
    expect(stderr).toContain(reason);
    expect(stderr).toContain('NO_LAST_GOOD');
    expect(existsSync(started)).toBe(false);
  }
  // Each attempt has ended, and the log must say so.
  const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event] : []));
  expect(ends).toMatchObject([
    { end: 'refused', exitCode: 65 },
    { end: 'refused', exitCode: 65 },
  ]);
  expect((await runCommand(['rollback', dir, '--fresh'])).code).toBe(0);
  expect((await run()).code).toBe(0);
  expect(existsSync(started)).toBe(true);
});

it('a run whose only checkpoint cannot be judged now may be retried', async () => {
  using folder = tempFolder();
  const [dir, started] = [join(folder.path, 'run'), join(folder.path, 'started')];
  mkdirSync(join(dir, 'step-5'), { recursive: true });
  writeFileSync(join(dir, 'step-5/state'), 'everything');
  expect((await runCommand(['seal', '--accept=anything', join(dir, 'step-5')])).code).toBe(0);
  const run = () => new Supervised({ args: ['--dir', dir], command: ['touch', started] }).ended;
  // A process appears to write to it.
  const writer = openSync(join(dir, 'step-5/state'), 'r+');
  const refused = await run().finally(() => closeSync(writer));
  expect([refused.code, existsSync(started)]).toEqual([75, false]);
  expect(refused.stderr).toContain('NO_LAST_GOOD');
  expect((await run()).code).toBe(0);
});

it('a trainer does not start from nothing if its run was rolled back to a missing step', async () => {
  using folder = tempFolder();
  const [dir, started] = [join(folder.path, 'run'), join(folder.path, 'started')];
  for (const step of ['step-4', 'step-6']) {
    mkdirSync(join(dir, step), { recursive: true });
    writeFileSync(join(dir, step, 'state'), step);
    expect((await runCommand(['seal', '--accept=anything', join(dir, step)])).code).toBe(0);
  }
  expect((await runCommand(['rollback', dir, '--to=4'])).code).toBe(0);
  rmSync(join(dir, 'step-4'), { recursive: true });
  const run = () => new Supervised({ args: ['--dir', dir], command: ['touch', started] }).ended;
  const refused = await run();
  expect(refused.code).toBe(65);
  expect(refused.stderr).toContain('the run was rolled back to step-4, step 4, and');
  expect(existsSync(started)).toBe(false);
  const resumed = await runCommand(['resume', dir]);
  expect([resumed.code, resumed.stdout]).toEqual([1, '']);
  expect(resumed.stderr).toContain('the run was rolled back to step-4, step 4, and that is not here');
  expect((await runCommand(['rollback', dir, '--undo'])).code).toBe(0);
  expect((await run()).code).toBe(0);
  expect(existsSync(started)).toBe(true);
});
