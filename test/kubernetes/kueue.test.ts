import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProcessResult } from '../support/run-process.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoTorch } from './cluster/torch.ts';
import { eventually } from './cluster/wait.ts';
import { type Change, endsOf, History, isOf } from './kueue/history.ts';
import { findKueue, ROUTING, startKueue } from './kueue/kueue-process.ts';
import { type Measured, writeMeasured } from './kueue/page.ts';
import { activeOf, createQueue, createWaiting, HALF_SHARE, holds, inQueue, isFalse, isWorkloadOf, WHOLE_SHARE } from './kueue/queues.ts';
import { EXAMPLES, provideRuns } from './scenario/example.ts';
import { runOf, whenGangTrains, whenRunEnded } from './scenario/gang-attempt.ts';
import { GANG_JOBS, ordersOf } from './scenario/gang-causes.ts';
import { whyNoTrainers } from './scenario/host-trees.ts';
import { cordon, PODS } from './scenario/objects.ts';
import { OPERATOR_IMAGE, type OperatorProcess, startOperator } from './scenario/operator-process.ts';
import type { SideProcess } from './scenario/side-process.ts';
import { tellingState } from './scenario/state.ts';
import { findTorch, uninterruptedTorchrun, weightsIn } from './scenario/torch-environment.ts';
import { torchGang } from './scenario/torch-gang.ts';

const STEPS = '1000';
/** Kueue's own patience with a gang that stays incomplete. */
const RECOVERY = '30s';
const torch = findTorch();
const found = whyNoTrainers() === null ? findKueue() : { reason: whyNoTrainers() ?? '' };
const folder = 'folder' in found ? found.folder : '';
const reason = 'reason' in found ? found.reason : torch === null ? whyNoTorch() : null;

describe.skipIf(reason !== null)(`a PyTorchJob in a queue of Kueue${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  const environment = torch ?? '';
  const measured: Measured[] = [];
  const stop = new AbortController();
  let cluster: Cluster;
  let operator: OperatorProcess;
  let kueue: SideProcess;
  let history: History;
  let twin: Promise<ProcessResult> | null = null;

  beforeAll(async () => {
    const node = { diskMiB: 2500 };
    cluster = await startCluster({ nodes: [node, node], images: [OPERATOR_IMAGE], apiServer: ROUTING });
    await provideRuns(cluster);
    await cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLES, 'kubernetes/runs.yaml')]);
    operator = await startOperator(cluster);
    kueue = await startKueue(cluster, folder, {
      timeout: '10m',
      recoveryTimeout: RECOVERY,
      requeuingStrategy: { backoffBaseSeconds: 1 },
    });
    await createQueue(cluster);
    history = History.watch(cluster, stop.signal);
    twin = uninterruptedTorchrun(environment, STEPS);
  });
  afterAll(async () => {
    stop.abort();
    if (process.env['UPDATE_DOCS'] === '1' && measured.length > 0)
      await writeMeasured(cluster, basename(folder).replace('kueue-', 'Kueue '), measured);
    await Promise.allSettled([twin]);
    await kueue?.[Symbol.asyncDispose]();
    await operator?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const telling = (job: string, work: () => Promise<void>): Promise<void> =>
    tellingState(cluster, work).catch(async (thrown: unknown) => {
      const status = JSON.stringify((await runOf(cluster, job))?.status);
      throw new Error(`${String(thrown)}\n\n${operator.said()}\n\n${status}\n\n${kueue.said().slice(-10_000)}`, { cause: thrown });
    });
  const measure = (what: string, from: Change, to: Change): void => {
    measured.push({ what, ms: to.heardMs - from.heardMs });
  };
  const whenWorkload = (job: string, what: string, isIt: (object: Change['object']) => boolean, after = 0): Promise<Change> =>
    history.when(`the workload of ${job} ${what}`, 'workload', (object) => isWorkloadOf(object, job) && isIt(object), after);
  const whenSuspended = (job: string, is: boolean, after: number): Promise<Change> =>
    history.when(
      `${job} to be ${is ? 'suspended' : 'resumed'}`,
      'job',
      ({ metadata, spec }) => metadata.name === job && (spec?.runPolicy?.suspend === true) === is,
      after,
    );
  const whenPod = (job: string, after: number): Promise<Change> =>
    history.when(`a pod of ${job}`, 'pod', ({ metadata }) => isOf(metadata.labels, job) && metadata.deletionTimestamp === undefined, after);
  const letGo = (job: string): void => writeFileSync(join(ordersOf(cluster, job), 'go'), '');

  it('is preempted, saves within its grace, keeps the quota until nothing runs, and resumes once it is admitted again', () =>
    telling('low', async () => {
      for (const job of ['low', 'high']) mkdirSync(ordersOf(cluster, job));
      const requests = { cpu: WHOLE_SHARE, memory: '512Mi' };
      await cluster.api.create(
        GANG_JOBS,
        torchGang({ job: 'low', environment, steps: STEPS, resources: { requests }, labels: inQueue('low') }),
      );
      const before = await whenGangTrains(cluster, 'low', 1);
      await createWaiting(cluster, { name: 'high', priority: 'high', cpu: WHOLE_SHARE });

      const preempted = await whenWorkload('low', 'to be preempted', (object) => holds(object, 'Evicted', 'Preempted'));
      const suspended = await whenSuspended('low', true, preempted.revision);
      const idle = await history.when(
        'low to be idle',
        'job',
        (object) => object.metadata.name === 'low' && activeOf(object) === 0,
        suspended.revision,
      );
      const freed = await whenWorkload('low', 'to give up its quota', (object) => isFalse(object, 'QuotaReserved'), preempted.revision);
      const admitted = await whenWorkload('high', 'to be admitted', (object) => holds(object, 'Admitted'));
      const follower = await whenPod('high', 0);
      const ends = endsOf(history, 'low', 1).toSorted((a, b) => a.revision - b.revision);
      const last = ends.at(-1);
      if (last === undefined || ends.length !== 2) throw new Error(`${ends.length} pods of low have ended`);
      const order = [preempted, suspended, last, idle, freed, admitted, follower].map(({ revision }) => revision);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      measure('Kueue preempts the gang | its job is suspended', preempted, suspended);
      measure('its job is suspended | both pods have saved and ended', suspended, last);
      measure('both pods have ended | `active` is 0', last, idle);
      measure('`active` is 0 | the other gang is admitted', idle, admitted);
      measure('the other gang is admitted | its first pod is there', admitted, follower);

      letGo('high');
      const finished = await whenWorkload('high', 'to be finished', (object) => holds(object, 'Finished'));
      const again = await whenWorkload('low', 'to be admitted again', (object) => holds(object, 'Admitted'), freed.revision);
      measure('the other gang has finished | the first one is admitted again', finished, again);
      measure('it is admitted again | its first pod is there', again, await whenPod('low', again.revision));
      // The save of the preemption, and no older one.
      expect(await whenGangTrains(cluster, 'low', 2)).toBeGreaterThan(before);
      letGo('low');
      const status = await whenRunEnded(cluster, 'low');
      expect(status).toMatchObject({
        phase: 'Succeeded',
        supervision: 'SUPERVISED',
        attempt: 2,
        // The pods saved after the operator had noticed the end: the loss is what they said last.
        attempts: [
          { end: { cause: 'JOB_SUSPENDED', lostSteps: expect.any(Number) as number, lostSeconds: expect.any(Number) as number } },
          {},
        ],
      });
      const { code, stdout, stderr } = (await twin) ?? { code: null, stdout: '', stderr: 'no twin was started' };
      expect(code, stderr).toBe(0);
      const [expected] = weightsIn(stdout);
      for (const rank of [0, 1])
        expect(weightsIn(readFileSync(join(ordersOf(cluster, 'low'), `ended-${rank}`), 'utf8'))).toEqual([expected]);
      await whenWorkload('low', 'to be finished', (object) => holds(object, 'Finished'));
    }));

  it('leaves when it stays incomplete for longer than the recoveryTimeout; with v1’s meaning of Running it keeps its quota', () =>
    telling('whole', async () => {
      const names = ['blind', 'whole'] as const;
      for (const name of names) {
        mkdirSync(ordersOf(cluster, name));
        const annotations = { 'holdfast.dev/running': name === 'blind' ? 'v1' : 'gang' };
        await createWaiting(cluster, { name, priority: 'low', cpu: HALF_SHARE, annotations, nodes: ['node-1', 'node-2'] });
      }
      const ready: Readonly<Record<string, Change>> = Object.fromEntries(
        await Promise.all(
          names.map(async (name) => [name, await whenWorkload(name, 'to be ready', (object) => holds(object, 'PodsReady'))] as const),
        ),
      );
      await cordon(cluster, 'node-2', true);
      for (const name of names) await cluster.api.remove(`${PODS}/${name}-worker-0`);
      const since = (name: (typeof names)[number]): number => ready[name]?.revision ?? 0;
      const isLost = (object: Change['object']): boolean => isFalse(object, 'PodsReady', 'WaitForRecovery');
      const [lostBlind, lost] = [
        await whenWorkload('blind', 'to wait for its recovery', isLost, since('blind')),
        await whenWorkload('whole', 'to wait for its recovery', isLost, since('whole')),
      ];
      const back = await whenWorkload('blind', 'to look ready', (object) => holds(object, 'PodsReady'), lostBlind.revision);
      measure('a worker is lost that fits no other node | with `holdfast.dev/running: v1` Kueue takes the gang for ready', lostBlind, back);
      const evicted = await whenWorkload('whole', 'to be evicted', (object) => holds(object, 'Evicted', 'PodsReadyTimeout'), lost.revision);
      measure(`a worker is lost that fits no other node | Kueue evicts the gang (\`recoveryTimeout: ${RECOVERY}\`)`, lost, evicted);
      const suspended = await whenSuspended('whole', true, evicted.revision);
      // It came first, and has still lost nothing.
      expect(history.of('workload').filter(({ object }) => isWorkloadOf(object, 'blind') && holds(object, 'Evicted'))).toEqual([]);
      await whenSuspended('whole', false, suspended.revision);
      await cordon(cluster, 'node-2', false);
      for (const name of names) {
        const labels = `training.kubeflow.org/job-name=${name}`;
        await eventually(`both pods of ${name} to run`, async () => {
          const pods = await cluster.api.list(`${PODS}?labelSelector=${labels}`);
          return pods.length === 2 && pods.every(({ status }) => status?.phase === 'Running') ? true : null;
        });
        letGo(name);
      }
      expect((await whenRunEnded(cluster, 'blind'))['attempt']).toBe(2);
      expect((await whenRunEnded(cluster, 'whole'))['attempt']).toBe(3);
    }));
});
