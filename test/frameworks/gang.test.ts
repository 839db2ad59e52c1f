import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { lastGood } from '../../src/checkpoint/store/last-good.ts';
import { readRun } from '../../src/checkpoint/store/store.ts';
import { freePort } from '../support/free-port.ts';
import { supervisedRuns } from '../support/supervised-runs.ts';
import type { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { DDP_TRAINER, findTorchrun, TORCHRUN_ENV } from './support/torchrun.ts';

const NODES = 2;
/** After the last resume. */
const STEPS = 500;

const start = supervisedRuns();
let torchrun: string;

/** One supervisor and one torchrun for each node, which find each other through torchrun's own rendezvous. */
async function startNodes(dir: string, steps: number): Promise<readonly Supervised[]> {
  const port = await freePort();
  const launch = ['--nproc-per-node=1', '--rdzv-backend=c10d', `--rdzv-endpoint=127.0.0.1:${port}`, '--rdzv-id=job'];
  return Array.from({ length: NODES }, (_, node) => {
    const args = ['--dir', dir, '--every', '1h', '--grace', '120s', '--nodes', String(NODES), '--node-rank', String(node)];
    const command = [torchrun, `--nnodes=${NODES}`, ...launch, DDP_TRAINER, String(steps)];
    return start({ args, command, env: { ...TORCHRUN_ENV, HOLDFAST_NODE: `node-${node}` } });
  });
}

/** What the ranks print at their end, of all nodes: the checksum of their weights. */
async function finishedOn(nodes: readonly Supervised[]): Promise<readonly string[]> {
  const ends = await Promise.all(nodes.map(({ ended }) => ended));
  expect(ends.map(({ code, stderr }) => (code === 0 ? code : stderr))).toEqual([0, 0]);
  return ends
    .flatMap(({ stdout }) => stdout.split('\n'))
    .filter((line) => line.startsWith('finished'))
    .sort();
}

beforeAll(async () => {
  torchrun = await findTorchrun();
});

describe('data-parallel training on two nodes, each with a torchrun and a supervisor of its own', () => {
  it('flushes one checkpoint of all ranks when one node alone is told to end, and goes on from it to the same weights', async () => {
    using folder = tempFolder();
    const [dir, twin] = [join(folder.path, 'run'), join(folder.path, 'twin')];
    const first = await startNodes(dir, 1_000_000);
    await Promise.race(first.map((run) => run.line(/^ready/)));
    first[1]?.signal('SIGTERM');
    await Promise.all(first.map((run) => run.line(/sealed step/)));
    // Without the other node its ranks cannot go on: it ends by itself, or is told to.
    await Promise.all(first.map((run) => run.end()));
    const codes = await Promise.all(first.map(async (run) => (await run.ended).code));
    expect(codes).toEqual([expect.toSatisfy((code) => code !== 0), 143]);
    const { checkpoint } = await lastGood(readRun(dir), { level: 'deep' });
    expect(checkpoint?.manifest.receipts.map(({ rank }) => rank)).toEqual([0, 1]);
    const step = checkpoint?.manifest.step ?? 0;
    const again = await startNodes(dir, step + STEPS);
    await Promise.all(again.map((run) => run.line(new RegExp(`^start [01] ${step + 1} `))));
    const resumed = await finishedOn(again);
    const uninterrupted = await finishedOn(await startNodes(twin, step + STEPS));
    expect(resumed).toHaveLength(NODES);
    expect(resumed).toEqual(uninterrupted);
  });
});
