import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { ROOT } from '../support/run-process.ts';
import { supervisedRuns } from '../support/supervised-runs.ts';
import type { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard } from '../support/trainer-process.ts';

const NODES = 2;
const HERE = 2;
const WORLD = NODES * HERE;
const STEPS = 600;
const SUM = (STEPS * (STEPS - 1)) / 2;

const start = supervisedRuns();

/** What the ranks of one node print at their end. */
const finishedOf = (node: number): readonly string[] =>
  Array.from({ length: HERE }, (_, index) => index + node * HERE).map((rank) => `finished ${rank} ${SUM * (rank + 1)}`);

const finishedLines = (stdout: string): readonly string[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('finished'))
    .sort();

/** The supervisor of one node, as far as one machine can be several. */
function startNode(dir: string, node: number, steps: number, every = '40steps'): Supervised {
  const command = ['python3', join(ROOT, 'test/support/trainers/ranks.py'), HERE, steps, node * HERE, WORLD].map(String);
  const args = ['--dir', dir, '--gang', 'job', '--nodes', String(NODES), '--node-rank', String(node), '--every', every, '--grace', '6s'];
  return start({ args, command, env: { HOLDFAST_NODE: `node-${node}` } });
}

const startAll = (dir: string, steps: number): readonly [Supervised, Supervised] => [startNode(dir, 0, steps), startNode(dir, 1, steps)];

/** The last good step, after checking the part of every rank of every node. */
async function goodStep(dir: string): Promise<number> {
  const { checkpoint, skipped } = await lastGood(readRun(dir), { level: 'deep' });
  if (checkpoint === null) throw new Error('there is no last good checkpoint');
  expect(skipped).toEqual([]);
  const { step, worldSize, receipts } = checkpoint.manifest;
  expect([worldSize, receipts.map(({ rank }) => rank)]).toEqual([WORLD, [0, 1, 2, 3]]);
  const states = readdirSync(checkpoint.path)
    .filter((name) => name.startsWith('rank-'))
    .map((name) => JSON.parse(readFileSync(join(checkpoint.path, name), 'utf8')) as { rank: number; step: number });
  expect(states.map((state) => [state.rank, state.step]).sort()).toEqual([0, 1, 2, 3].map((rank) => [rank, step]));
  return step;
}

describe('ranks of two nodes, each with a supervisor of its own, over one folder', () => {
  it('end together and never with 0 if one node gets a notice and they cannot agree on a step', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const [first, second] = startAll(dir, 100_000);
    await Promise.all([first, second].map((node) => node.line(/sealed step /)));
    second.signal('SIGTERM');
    const ends = await Promise.all([first.ended, second.ended]);
    expect(ends.map(({ code }) => code)).toEqual([143, 143]);
    expect(ends[0]?.stderr).toContain('node-1 was told to end, and the trainer here cannot continue alone');
  });

  it('share one attempt and make one checkpoint of all ranks', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const ends = await Promise.all(startAll(dir, STEPS).map(({ ended }) => ended));
    expect(ends.map(({ code, stdout }) => [code, finishedLines(stdout)])).toEqual([
      [0, finishedOf(0)],
      [0, finishedOf(1)],
    ]);
    for (const { stderr } of ends) expect(stderr).toMatch(/sealed step 560 /);
    expect(await goodStep(dir)).toBe(560);
    const started = readLedger(dir).events.filter(({ event }) => event.kind === 'attempt-started');
    expect(started.map(({ node, attempt }) => [node, attempt]).sort()).toEqual([
      ['node-0', 1],
      ['node-1', 1],
    ]);
  });

  it('lose only the save in which a node dies, and all resume from the one before in a newer attempt', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const [first, second] = startAll(dir, 1_000_000);
    await first.line(/sealed step 80 /);
    const pids = [(await second.line(/^start 2 /)).split(' ')[3], (await second.line(/^start 3 /)).split(' ')[3]].map(Number);
    second.kill();
    // The launcher of the survivors ends them when it sees that a rank has died.
    for (const pid of pids) killHard(pid);
    await second.ended;
    first.signal('SIGTERM');
    expect((await first.ended).code).toBe(143);
    const step = await goodStep(dir);
    expect(step).toBeGreaterThanOrEqual(80);
    const again = startAll(dir, STEPS + step);
    for (const [node, run] of again.entries()) await run.line(new RegExp(`^start ${node * HERE} ${step + 1} `));
    for (const run of again) expect((await run.ended).code).toBe(0);
    expect(await goodStep(dir)).toBeGreaterThan(step);
    const attempts = new Set(readLedger(dir).events.map(({ attempt }) => attempt));
    expect([...attempts].sort()).toEqual([1, 2]);
  });

  it('get an error with the option to set if their node number is missing', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const { code, stderr } = await start({ args: ['--dir', dir, '--nodes', '2'], command: ['true'] }).ended;
    expect([code, stderr]).toEqual([64, expect.stringContaining('give --node-rank, from 0 to 1') as string]);
  });
});
