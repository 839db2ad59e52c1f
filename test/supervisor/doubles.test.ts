import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/checkpoint/store/last-good.ts';
import { readRun } from '../../src/checkpoint/store/store.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const RANKS = join(ROOT, 'test/support/trainers/ranks.py');
const HELPER = join(ROOT, 'test/support/trainers/helper.py');
const PATIENT = { timeout: 120_000 };

describe('two processes that say they are the same rank', PATIENT, () => {
  it('do not save together: one takes part, both are told of, and both train on', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const train = `python3 ${RANKS} 1 1000000`;
    const run = new Supervised({ args: ['--dir', dir, '--every', '40steps'], command: ['sh', '-c', `${train} & ${train} & wait`] });
    await run.line(/warning: processes \d+ and \d+ have both attached as rank 0 of 1: one of them alone takes part in saves/);
    await run.line(/no save at step \d+: process \d+ is rank 0 too/);
    await run.line(/warning: process \d+ did not save step \d+: process \d+ is rank 0 too/);
    await run.line(/sealed step \d+/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect((await lastGood(readRun(dir))).checkpoint?.manifest.worldSize).toBe(1);
  });

  it('of which the first trains nothing leave the saves to the one that trains, and its last word counts when it has gone', async () => {
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
