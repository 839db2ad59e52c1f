import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const RANKS = join(ROOT, 'test/support/trainers/ranks.py');
const HELPER = join(ROOT, 'test/support/trainers/helper.py');

describe('two processes that claim the same rank', () => {
  it('do not save together: one takes part, the log names both, and both continue training', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const train = `python3 ${RANKS} 1 1000000`;
    const run = new Supervised({ args: ['--dir', dir, '--every', '40steps'], command: ['sh', '-c', `${train} & ${train} & wait`] });
    await run.line(/warning: processes \d+ and \d+ have both attached as rank 0 of 1: only one of them takes part in saves/);
    await run.line(/no save at step \d+: process \d+ has also attached as rank 0 and takes part instead/);
    await run.line(/warning: process \d+ did not save step \d+: process \d+ has also attached as rank 0/);
    await run.line(/sealed step \d+/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect((await lastGood(readRun(dir))).checkpoint?.manifest.worldSize).toBe(1);
  });

  it('leave the saves to the process that trains, and its last report counts after it has exited', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const command = ['python3', HELPER, 'python3', RANKS, '1', '200'];
    const run = new Supervised({ args: ['--dir', dir, '--every', '40steps', '--grace', '2s'], command });
    await run.line(/sealed step 160 /);
    await run.line(/^the trainer ended with 0$/);
    run.signal('SIGTERM');
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^finished 0 19900$/m) as string });
    expect(stderr).toMatch(/sealed step 40 /);
    expect((await lastGood(readRun(dir))).checkpoint?.manifest).toMatchObject({ step: 160, worldSize: 1 });
  });
});
