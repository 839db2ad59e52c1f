import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { supervisedRuns } from '../support/supervised-runs.ts';
import type { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard, trainerPid } from '../support/trainer-process.ts';
import { DDP_TRAINER, findTorchrun, TORCHRUN_ENV } from './support/torchrun.ts';

const RANKS = 2;
/** Counted after the last resume; an interrupted run does not reach its end. */
const STEPS = 500;
const ENDLESS = 1_000_000;

const startRun = supervisedRuns();
let torchrun: string;

function start(dir: string, steps: number, args: readonly string[], env: Readonly<Record<string, string>> = {}): Supervised {
  const command = [torchrun, '--standalone', `--nproc-per-node=${RANKS}`, DDP_TRAINER, String(steps)];
  return startRun({ args: ['--dir', dir, ...args], command, env: { ...TORCHRUN_ENV, ...env } });
}

/** Returns the checksums of the weights that the ranks of a run print at its end. */
async function weightsOf(run: Supervised): Promise<readonly string[]> {
  const { code, stdout, stderr } = await run.ended;
  expect(code === 0 ? code : stderr).toBe(0);
  const finished = stdout.split('\n').filter((line) => line.startsWith('finished'));
  expect(finished).toHaveLength(RANKS);
  return finished.sort();
}

/**
 * Finds the processes of the ranks and of their launcher, which is the trainer; they end together.
 */
const endsOf = (dir: string) => readLedger(dir).events.flatMap(({ event }) => (event.kind === 'trainer-ended' ? [event] : []));

const sealedSteps = (dir: string) =>
  readLedger(dir).events.flatMap(({ event }) => (event.kind === 'save-ended' && event.outcome === 'sealed' ? [event.step] : []));

beforeAll(async () => {
  torchrun = await findTorchrun();
});

describe('data-parallel training under a real torchrun', () => {
  it('flushes one step of all ranks at a notice, and resumes from it to the same weights, bit for bit', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const first = start(dir, ENDLESS, ['--grace', '60s', '--every', '1h']);
    await first.line(/^ready/);
    first.signal('SIGTERM');
    const { code, stderr } = await first.ended;
    expect({ code, stderr }).toEqual({ code: 143, stderr: expect.stringContaining('sealed step') as string });
    // The launcher may exit with any code, but not with success.
    expect(endsOf(dir)).toMatchObject([{ saidFinished: false }]);
    const step = sealedSteps(dir).at(-1) ?? -1;
    const total = step + STEPS;
    const second = start(dir, total, ['--every', '1h']);
    for (let rank = 0; rank < RANKS; rank++) await second.line(new RegExp(`^start ${rank} ${step + 1} `));
    const twin = start(join(folder.path, 'twin'), total, ['--every', '1h']);
    expect(await weightsOf(second)).toEqual(await weightsOf(twin));
  });

  it('gets an error at its first save if all ranks save under the same name, and trains on', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = start(dir, 150, ['--every', '100steps'], { EACH_WRITES: '1' });
    await weightsOf(run);
    expect((await run.ended).stderr).toMatch(/SAVE_MIXED: state\.pt was written by rank [01] and by rank [01]/);
    expect(sealedSteps(dir)).toEqual([]);
  });

  it('restarts from the last good step after its launcher is killed, once its ranks have ended', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = start(dir, ENDLESS, ['--every', '100steps', '--restarts', '1', '--grace', '60s']);
    await run.line(/sealed step 100 /);
    const launchers = () => readLedger(dir).events.flatMap(({ event }) => (event.kind === 'trainer-started' ? [event.pid] : []));
    killHard(await trainerPid(dir));
    // The step is one of the first hundreds; the ranks themselves refuse the state of another step.
    await run.line(/^start 0 [1-9]\d*01 /);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect(launchers()).toHaveLength(2);
  });
});
