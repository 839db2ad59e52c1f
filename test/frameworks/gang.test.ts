import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { scan } from '../../src/store/folder/scan.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { freePort } from '../support/free-port.ts';
import { supervisedRuns } from '../support/supervised-runs.ts';
import type { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { DDP_TRAINER, findTorchrun, TORCHRUN_ENV } from './support/torchrun.ts';

const NODES = 2;
/** Counted after the last resume. */
const STEPS = 500;

const start = supervisedRuns();
let torchrun: string;

/**
 * Starts one supervisor and one torchrun for each node; they find each other through torchrun's own
 * rendezvous.
 */
function startNodes(
  steps: number,
  how: (node: number) => { readonly args: readonly string[]; readonly launch: readonly string[]; readonly env?: Record<string, string> },
): readonly Supervised[] {
  return Array.from({ length: NODES }, (_, node) => {
    const { args, launch, env = {} } = how(node);
    const command = [torchrun, `--nnodes=${NODES}`, '--nproc-per-node=1', ...launch, DDP_TRAINER, String(steps)];
    return start({ args: ['--grace', '120s', ...args], command, env: { ...TORCHRUN_ENV, ...env, HOLDFAST_NODE: `node-${node}` } });
  });
}

/** Runs all nodes over one folder as one gang; torchrun chooses the first rank. */
async function startGang(dir: string, steps: number): Promise<readonly Supervised[]> {
  const launch = ['--rdzv-backend=c10d', `--rdzv-endpoint=127.0.0.1:${await freePort()}`, '--rdzv-id=job'];
  return startNodes(steps, (node) => ({
    args: ['--dir', dir, '--every', '1h', '--nodes', String(NODES), '--node-rank', String(node)],
    launch,
  }));
}

/** Each with a folder of its own, and so with a rank that stays the same. */
async function startApart(dirs: readonly string[], steps: number): Promise<readonly Supervised[]> {
  const port = await freePort();
  return startNodes(steps, (node) => ({
    args: ['--dir', dirs[node] ?? '', '--every', '50steps'],
    launch: [`--node-rank=${node}`, '--master-addr=127.0.0.1', `--master-port=${port}`],
    env: { EACH_WRITES: '1' },
  }));
}

/** Returns the checksums of the weights that the ranks of all nodes print at their end. */
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
  it('flushes one checkpoint of all ranks if one node alone gets a notice, and resumes to the same weights', async () => {
    using folder = tempFolder();
    const [dir, twin] = [join(folder.path, 'run'), join(folder.path, 'twin')];
    const first = await startGang(dir, 1_000_000);
    await Promise.race(first.map((run) => run.line(/^ready/)));
    first[1]?.signal('SIGTERM');
    await Promise.all(first.map((run) => run.line(/sealed step/)));
    // The ranks of the first node cannot continue without the second: it ends by itself, or gets a
    // notice.
    await Promise.all(first.map((run) => run.end()));
    const codes = await Promise.all(first.map(async (run) => (await run.ended).code));
    expect(codes).toEqual([143, 143]);
    const { checkpoint } = await lastGood(readRun(dir), { level: 'deep' });
    expect(checkpoint?.manifest.receipts.map(({ rank }) => rank)).toEqual([0, 1]);
    const step = checkpoint?.manifest.step ?? 0;
    const again = await startGang(dir, step + STEPS);
    await Promise.all(again.map((run) => run.line(new RegExp(`^start [01] ${step + 1} `))));
    const resumed = await finishedOn(again);
    const uninterrupted = await finishedOn(await startGang(twin, step + STEPS));
    expect(resumed).toHaveLength(NODES);
    expect(resumed).toEqual(uninterrupted);
  });

  it('resumes from the newest step on both nodes if each has its own folder and one is a save behind', async () => {
    using folder = tempFolder();
    const dirs = ['a', 'b'].map((name) => join(folder.path, name));
    const twins = ['c', 'd'].map((name) => join(folder.path, name));
    const first = await startApart(dirs, 1_000_000);
    await Promise.all(first.map((run) => run.line(/sealed step 1[05]0/)));
    await Promise.all(first.map((run) => run.end()));
    const held = dirs.map((dir) => scan(readRun(dir)).sealed);
    const newest = Math.min(...held.map(([last]) => last?.manifest.step ?? 0));
    // The second node was ended before it had sealed the newest step of the first.
    for (const { path, manifest } of held[1] ?? []) if (manifest.step >= newest) rmSync(path, { recursive: true });
    const common = Math.max(...(held[1] ?? []).map(({ manifest }) => manifest.step).filter((step) => step < newest));
    const again = await startApart(dirs, common + STEPS);
    await Promise.all(again.map((run) => run.line(new RegExp(`^start [01] ${common + 1} `))));
    expect(await finishedOn(again)).toEqual(await finishedOn(await startApart(twins, common + STEPS)));
  });
});
