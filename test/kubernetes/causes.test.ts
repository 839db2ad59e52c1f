import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoCluster } from './cluster/facility.ts';
import type { NodeOptions } from './cluster/options.ts';
import { API_CAUSES } from './scenario/api-causes.ts';
import { interruptedRun } from './scenario/interrupted-run.ts';
import { expectControl, expectGrace, expectSupervised, settled } from './scenario/judgement.ts';
import { KUBELET_CAUSES } from './scenario/kubelet-causes.ts';
import { Lanes } from './scenario/lanes.ts';
import { measuredGrace } from './scenario/measured-grace.ts';
import { type Recorded, writeNotesWhenAsked } from './scenario/notes.ts';
import { rejectedRun } from './scenario/rejected-run.ts';
import { GPU, type Manner, POOL } from './scenario/training-job.ts';
import { uninterrupted } from './scenario/twin.ts';

const reason = whyNoCluster();
const CAUSES = [...API_CAUSES, ...KUBELET_CAUSES];
const REJECTED = 'its pod comes to a node under disk pressure (rejected)';
/** Well below what is free; a filled disk is well above. */
const EVICTION = { 'nodefs.available': '300Mi', 'imagefs.available': '100Mi' };
/** Causes at the same time, each with nodes of its own: they mostly wait. One processor has enough with one. */
const LANES = availableParallelism() === 1 ? [1] : [1, 2];
const poolOf = (manner: Manner, lane: number): string => `${manner}-${lane}`;
const nodeOf = (manner: Manner, lane: number): NodeOptions => ({
  diskMiB: 1200,
  resources: { [GPU]: 1 },
  labels: { [POOL]: poolOf(manner, lane) },
  evictionHard: EVICTION,
  // Where it is waited for to the end, less than the pod's own.
  shutdownGraceSeconds: manner === 'stubborn' ? 8 : 30,
  // How full an emptyDir is: by itself a kubelet looks once a minute.
  kubelet: { volumeStatsAggPeriod: '2s' },
});

describe.skipIf(reason !== null)(`on a real cluster${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let twin: string;
  const lanes = new Lanes(LANES.length);
  const recorded = new Map<string, readonly Recorded[]>();

  beforeAll(async () => {
    const nodes = LANES.flatMap((lane) =>
      (['bare', 'bare', 'holdfast', 'holdfast', 'stubborn'] as const).map((manner) => nodeOf(manner, lane)),
    );
    [twin, cluster] = await Promise.all([uninterrupted(), startCluster({ nodes })]);
  });
  afterAll(async () => {
    const rows = [...CAUSES.map(({ title }) => title), REJECTED].flatMap((title) => recorded.get(title) ?? []);
    await writeNotesWhenAsked('causes', rows, cluster);
    await cluster?.[Symbol.asyncDispose]();
  });

  it.concurrent.for(CAUSES.map((cause) => [cause.title, cause] as const))(
    '%s: under `holdfast run` it is never called complete before it is, and ends like one that was left alone',
    async ([title, cause]) => {
      const [bare, supervised, grace] = await lanes.use((lane) =>
        settled(
          interruptedRun(cluster, cause, { pool: poolOf('bare', lane), manner: 'bare' }),
          interruptedRun(cluster, cause, { pool: poolOf('holdfast', lane), manner: 'holdfast' }),
          measuredGrace(cluster, cause, { pool: poolOf('stubborn', lane) }),
        ),
      );
      recorded.set(title, [
        { cause: title, grace, manner: 'bare', outcome: bare, isFinished: bare.result === twin },
        { cause: title, grace, manner: 'holdfast', outcome: supervised, isFinished: supervised.result === twin },
      ]);
      expectControl(cause, bare, twin);
      expectSupervised(cause, supervised, twin);
      expectGrace(cause, grace);
    },
  );

  it.concurrent(`${REJECTED}: nothing ran, the Job counts a failure, and goes on`, async () => {
    const [bare, supervised] = await lanes.use((lane) =>
      settled(
        rejectedRun(cluster, { pool: poolOf('bare', lane), manner: 'bare' }),
        rejectedRun(cluster, { pool: poolOf('holdfast', lane), manner: 'holdfast' }),
      ),
    );
    recorded.set(REJECTED, [
      { cause: REJECTED, manner: 'bare', outcome: bare, isFinished: bare.result === twin },
      { cause: REJECTED, manner: 'holdfast', outcome: supervised, isFinished: supervised.result === twin },
    ]);
    for (const outcome of [bare, supervised]) {
      expect(outcome).toMatchObject({
        phase: 'Failed',
        exitCode: null,
        podReason: 'Evicted',
        disruption: null,
        job: 'Complete',
        result: twin,
      });
      expect(outcome.failures).toBeGreaterThan(0);
      expect(outcome.resumedWith).toBe(0);
    }
  });
});
