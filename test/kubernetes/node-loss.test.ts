import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import type { NodeOptions } from './cluster/options.ts';
import { interruptedRun } from './scenario/interrupted-run.ts';
import { HELD_IMAGE, provideForJobs } from './scenario/example.ts';
import { whyNoTrainers } from './scenario/host-trees.ts';
import { expectFinish, expectGrace, expectOutcome, settled } from './scenario/judgement.ts';
import { GIVEN_UP, LOSS_CAUSES } from './scenario/loss-causes.ts';
import { measuredGrace } from './scenario/measured-grace.ts';
import { type Recorded, writeNotesWhenAsked } from './scenario/notes.ts';
import { cordon } from './scenario/objects.ts';
import { AWAY } from './scenario/recorded-tables.ts';
import { ONE_POD, POOL, isSupervised } from './scenario/training-job.ts';
import { uninterrupted } from './scenario/twin.ts';
import { undisturbedRun } from './scenario/undisturbed-run.ts';

const reason = whyNoTrainers();
const MANNERS = 3;
const pool = 'any';
/** The pods' request for ephemeral storage must fit, or they are not placed. */
const NODE: NodeOptions = { labels: { [POOL]: pool }, diskMiB: 2048, kubelet: ONE_POD };
const REFUGE: NodeOptions = { labels: { [POOL]: pool }, diskMiB: 8192 };
/**
 * The control plane gives up nodes soon, even if most of them do not report. By default that takes
 * minutes, or never happens if most nodes are lost.
 */
const TIMERS = { 'node-monitor-grace-period': '30s', 'node-eviction-rate': '10', 'unhealthy-zone-threshold': '1' };

/**
 * Lets all callers continue when this many have come. If one fails before, the others fail with it.
 */
function barrier(
  count: number,
  then: () => Promise<void>,
): { readonly arrive: () => Promise<void>; readonly guard: <Value>(one: Promise<Value>) => Promise<Value> } {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  promise.catch(() => {});
  let missing = count;
  const arrive = (): Promise<void> => {
    missing -= 1;
    if (missing === 0) then().then(resolve, reject);
    return promise;
  };
  const guard = <Value>(one: Promise<Value>): Promise<Value> =>
    one.catch((thrown: unknown) => {
      reject(thrown);
      throw thrown;
    });
  return { arrive, guard };
}

describe.skipIf(reason !== null)(`when a node is lost${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let twin: string;
  /** Takes the pods that are moved, and only after all other nodes are in use. */
  let refuge: string;
  /** The rows whose tests passed. */
  const recorded: Recorded[] = [];

  beforeAll(async () => {
    const runs = LOSS_CAUSES.length * MANNERS;
    const nodes = [...Array.from({ length: runs }, () => NODE), REFUGE];
    twin = await uninterrupted();
    cluster = await startCluster({ nodes, controllerManager: TIMERS, images: [HELD_IMAGE] });
    await provideForJobs(cluster);
    refuge = `node-${nodes.length}`;
    await cordon(cluster, refuge, true);
  });
  afterAll(async () => {
    try {
      await writeNotesWhenAsked('node loss', recorded, cluster);
    } finally {
      await cluster?.[Symbol.asyncDispose]();
    }
  });

  it.concurrent('a run is not disturbed by a kubelet that is away for a while', async () => {
    const [bare, supervised] = await settled(
      undisturbedRun(cluster, { pool, manner: 'bare' }),
      undisturbedRun(cluster, { pool, manner: 'binary' }),
    );
    for (const [manner, outcome] of [
      ['bare', bare],
      ['binary', supervised],
    ] as const) {
      expect(outcome).toMatchObject({ phase: 'Succeeded', exitCode: 0, job: 'Complete', failures: 0, nextNode: null, result: twin });
      expect(outcome).toMatchObject({ podReason: null, disruption: null });
      if (isSupervised(manner)) expectFinish(manner, outcome);
      recorded.push({ cause: AWAY, manner, outcome, isFinished: outcome.result === twin });
    }
  });

  // On its own nodes, at the same time as the test before.
  it.concurrent('a run that was given up with its kubelet resumes elsewhere when the kubelet is back, and ends like an uninterrupted one', async () => {
    const [form] = GIVEN_UP.forms;
    const [bare, supervised, grace] = await settled(
      interruptedRun(cluster, GIVEN_UP, { pool, manner: 'bare' }),
      interruptedRun(cluster, GIVEN_UP, { pool, manner: form }),
      measuredGrace(cluster, GIVEN_UP, { pool }),
    );
    for (const [manner, outcome] of [
      ['bare', bare],
      [form, supervised],
    ] as const) {
      expectOutcome(GIVEN_UP, manner, outcome, twin);
      recorded.push({ cause: GIVEN_UP.title, grace, manner, outcome, isFinished: outcome.result === twin });
    }
  });

  // All at once, because they mostly wait.
  it('a run under `holdfast run` resumes on another node, and ends like an uninterrupted one', async () => {
    const { arrive: whenReady, guard } = barrier(LOSS_CAUSES.length * MANNERS, () => cordon(cluster, refuge, false));
    const all = LOSS_CAUSES.map(async (cause) => {
      const [form] = cause.forms;
      const [bare, supervised, grace] = await settled(
        guard(interruptedRun(cluster, cause, { pool, manner: 'bare', whenReady })),
        guard(interruptedRun(cluster, cause, { pool, manner: form, whenReady })),
        guard(measuredGrace(cluster, cause, { pool, whenReady })),
      );
      return { cause, form, bare, supervised, grace };
    });
    const outcomes = await settled(...all);
    for (const { cause, form, bare, supervised, grace } of outcomes) {
      expectOutcome(cause, 'bare', bare, twin);
      expectOutcome(cause, form, supervised, twin);
      expectGrace(cause, grace);
      recorded.push(
        { cause: cause.title, grace, manner: 'bare', outcome: bare, isFinished: bare.result === twin },
        { cause: cause.title, grace, manner: form, outcome: supervised, isFinished: supervised.result === twin },
      );
    }
  });
});
