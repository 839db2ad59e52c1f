import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import type { NodeOptions } from './cluster/options.ts';
import { HELD_IMAGE, provideForJobs } from './scenario/example.ts';
import { whyNoTrainers } from './scenario/host-trees.ts';
import { type Outcome, interruptedRun } from './scenario/interrupted-run.ts';
import { expectFinish, expectGrace, expectOutcome, settled } from './scenario/judgement.ts';
import { GRANTED_SECONDS } from './scenario/kubelet-causes.ts';
import { Lanes } from './scenario/lanes.ts';
import { measuredGrace } from './scenario/measured-grace.ts';
import { type Recorded, writeNotesWhenAsked } from './scenario/notes.ts';
import { CAUSES, REJECTED } from './scenario/recorded-tables.ts';
import { rejectedRun } from './scenario/rejected-run.ts';
import { type Manner, ONE_POD, POOL } from './scenario/training-job.ts';
import { uninterrupted } from './scenario/twin.ts';

const reason = whyNoTrainers();
/** The kubelet's default, which a supervisor assumes; the images alone cause no pressure. */
const EVICTION = { 'nodefs.available': '10%', 'imagefs.available': '60Mi' };
/**
 * How many causes are tested at the same time, each on its own nodes. They mostly wait. On one
 * processor only one.
 */
const LANES = availableParallelism() === 1 ? [1] : [1, 2];
type Pool = 'control' | 'supervised' | 'stubborn';
const poolOf = (pool: Pool, lane: number): string => `${pool}-${lane}`;
const nodeOf = (pool: Pool, lane: number): NodeOptions => ({
  diskMiB: 4096,
  labels: { [POOL]: poolOf(pool, lane) },
  evictionHard: EVICTION,
  // For pods that the test lets run to their kill: less than the pod's own grace.
  shutdownGraceSeconds: pool === 'stubborn' ? 8 : GRANTED_SECONDS,
  // By default a kubelet measures an emptyDir only once a minute.
  kubelet: { ...ONE_POD, volumeStatsAggPeriod: '2s' },
});

describe.skipIf(reason !== null)(`on a real cluster${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let twin: string;
  const lanes = new Lanes(LANES.length);
  /** The rows whose tests passed. */
  const recorded: Recorded[] = [];

  beforeAll(async () => {
    const nodes = LANES.flatMap((lane) =>
      (['control', 'control', 'supervised', 'supervised', 'stubborn'] as const).map((pool) => nodeOf(pool, lane)),
    );
    twin = await uninterrupted();
    cluster = await startCluster({ nodes, images: [HELD_IMAGE] });
    await provideForJobs(cluster);
  });
  afterAll(async () => {
    try {
      await writeNotesWhenAsked('causes', recorded, cluster);
    } finally {
      await cluster?.[Symbol.asyncDispose]();
    }
  });

  it.concurrent.for(CAUSES.map((cause) => [cause.title, cause] as const))(
    '%s: under `holdfast run` a Job is never Complete too early, and ends like an uninterrupted one',
    async ([title, cause]) => {
      const { forms, otherControls = [] } = cause;
      /** One after the other, on the same nodes. */
      const interrupted = async (manners: readonly Manner[], pool: string): Promise<readonly (readonly [Manner, Outcome])[]> => {
        const outcomes: (readonly [Manner, Outcome])[] = [];
        for (const manner of manners) outcomes.push([manner, await interruptedRun(cluster, cause, { pool, manner })]);
        return outcomes;
      };
      const [controls, supervised, grace] = await lanes.use((lane) =>
        settled(
          interrupted(['bare', ...otherControls], poolOf('control', lane)),
          interrupted(forms, poolOf('supervised', lane)),
          measuredGrace(cluster, cause, { pool: poolOf('stubborn', lane) }),
        ),
      );
      const all = [...controls, ...supervised];
      for (const [manner, outcome] of all) expectOutcome(cause, manner, outcome, twin);
      expectGrace(cause, grace);
      for (const [manner, outcome] of all) recorded.push({ cause: title, grace, manner, outcome, isFinished: outcome.result === twin });
    },
  );

  it.concurrent(`${REJECTED}: nothing ran, the Job counts a failure, and continues`, async () => {
    const [bare, supervised] = await lanes.use((lane) =>
      settled(
        rejectedRun(cluster, { pool: poolOf('control', lane), manner: 'bare' }),
        rejectedRun(cluster, { pool: poolOf('supervised', lane), manner: 'binary' }),
      ),
    );
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
    expectFinish('binary', supervised);
    recorded.push(
      { cause: REJECTED, manner: 'bare', outcome: bare, isFinished: bare.result === twin },
      { cause: REJECTED, manner: 'binary', outcome: supervised, isFinished: supervised.result === twin },
    );
  });
});
