import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LAUNCHER, runProcess } from '../support/run-process.ts';
import { sliceOfCommit } from '../support/slice.ts';
import type { Cluster } from './cluster/cluster.ts';
import { whyNotBuilt } from './cluster/facility.ts';
import { playSmallCluster, startForSmallClusters } from './foretold/play.ts';
import { drawSmallCluster, SEEDS } from './foretold/small-cluster.ts';
import { RESERVED, reserveBothWays } from './foretold/reserve.ts';

const reason = whyNotBuilt();
/** The others are recorded: `npm run foretold:record`. */
const SEEDS_OF_COMMIT = 3;
const seeds = [...sliceOfCommit(SEEDS.map(String), SEEDS_OF_COMMIT)].map(Number);

describe.skipIf(reason !== null)(`whatif on a real cluster${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startForSmallClusters();
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  /** Asks as a person beside the cluster would. */
  async function ask(
    ...args: readonly string[]
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
    const [program = '', ...rest] = cluster.inNetwork([LAUNCHER, 'whatif', ...args]);
    return runProcess(program, rest);
  }

  it.each(seeds)('foretells which pods the scheduler evicts, in the small cluster %i', async (seed) => {
    const { verdict } = await playSmallCluster(cluster, drawSmallCluster(seed));
    expect(verdict.faults).toEqual([]);
  });

  it('a nominated node keeps pods of equal and lower priority away, also from a pod that never preempts', async () => {
    expect(await reserveBothWays(cluster)).toEqual(RESERVED);
  });

  it('answers every question on the live cluster, and the same from its snapshot', async () => {
    const live = `--kubeconfig=${cluster.kubeconfig}`;
    const [file, snapshot] = [join(cluster.folder, 'asked.yaml'), join(cluster.folder, 'snapshot.json')];
    writeFileSync(file, JSON.stringify(drawSmallCluster(1).question));
    const taken = await ask('snapshot', live);
    expect(taken).toMatchObject({ code: 0, stderr: '' });
    writeFileSync(snapshot, taken.stdout);
    for (const question of [['apply', '-f', file], ['drain', 'node-1'], ['reclaim', 'node-1', 'node-2'], ['lose', 'node-2'], ['audit']]) {
      const [now, later] = [await ask(...question, live, '--json'), await ask(...question, `--snapshot=${snapshot}`, '--json')];
      const { from: _from, at: _at, ...answer } = JSON.parse(later.stdout) as Record<string, unknown>;
      expect(now).toMatchObject({ code: later.code, stderr: '' });
      expect(JSON.parse(now.stdout), question.join(' ')).toMatchObject(answer);
    }
  });
});
