import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProcessResult } from '../support/run-process.ts';
import type { KubeObject } from './cluster/api.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { BASE_IMAGE } from './cluster/runtime.ts';
import { whyNoTorch } from './cluster/torch.ts';
import { eventually } from './cluster/wait.ts';
import { EXAMPLES, provideRuns } from './scenario/example.ts';
import { runOf, RUNS, whenGangTrains, whenRunEnded } from './scenario/gang-attempt.ts';
import { declaredLostMs, CI_PLAYS, GANG_JOBS, type GangCause, ordersOf, podOfRole, RECORDED_PLAYS } from './scenario/gang-causes.ts';
import { type GangRow, gangRowText, writeGangTable } from './scenario/gang-table.ts';
import { GRANTED_SECONDS } from './scenario/kubelet-causes.ts';
import { whyNoTrainers } from './scenario/host-trees.ts';
import { PODS, trueConditions } from './scenario/objects.ts';
import { OPERATOR_IMAGE, type OperatorProcess, startOperator } from './scenario/operator-process.ts';
import { tellingState } from './scenario/state.ts';
import { findTorch, uninterruptedTorchrun, weightsIn } from './scenario/torch-environment.ts';
import { torchGang } from './scenario/torch-gang.ts';
import { ONE_POD } from './scenario/training-job.ts';

const STEPS = '4000';
/** Every cause takes a minute or two. */
const WHOLE_MS = 90 * 60_000;
/** The control plane notices a lost node soon; by default that takes minutes. */
const TIMERS = { 'node-monitor-grace-period': '15s', 'node-eviction-rate': '10', 'unhealthy-zone-threshold': '1' };
const torch = findTorch();
/** `npm run jobs:record` plays every cause and writes the table; a run of the suite plays four. */
const isRecorded = process.env['HOLDFAST_INTERRUPTIONS'] === 'all';
const PLAYS = isRecorded ? RECORDED_PLAYS : CI_PLAYS;
const reason = whyNoTrainers() ?? (torch === null ? whyNoTorch() : null);

/** The manifest of a play. Each pod may fill its disk and its memory. */
const manifest = (job: string, environment: string): Readonly<Record<string, unknown>> =>
  torchGang({
    job,
    environment,
    steps: STEPS,
    resources: { limits: { memory: '2Gi', 'ephemeral-storage': '600Mi' } },
    runPolicy: { ttlSecondsAfterFinished: 0 },
  });

/** An attempt in the record, as far as the test reads it. */
interface Ended {
  readonly number: number;
  readonly detectedAt: string | null;
  readonly end: { readonly cause: string } | null;
}

function isSucceeded(job: KubeObject | null): true | null {
  return trueConditions(job).some(({ type }) => type === 'Succeeded') ? true : null;
}

/** A job whose image has no glibc. It passes Pod Security restricted by itself. */
const ALONE = {
  apiVersion: 'kubeflow.org/v1',
  kind: 'PyTorchJob',
  metadata: { name: 'alone', annotations: { 'holdfast.dev/supervise': 'true', 'holdfast.dev/dir': '/tmp/run' } },
  spec: {
    pytorchReplicaSpecs: {
      Master: {
        replicas: 1,
        template: {
          spec: {
            securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
            containers: [
              {
                name: 'pytorch',
                image: BASE_IMAGE,
                imagePullPolicy: 'Never',
                command: ['/busybox/sh', '-c', 'echo trained as $0 $1 "[$2]"'],
                args: ['$(NOBODY)', '$(RANK)', '--'],
                securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
              },
            ],
          },
        },
      },
    },
  },
};

describe.skipIf(reason !== null)(`a PyTorchJob with the annotation${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  const environment = torch ?? '';
  let cluster: Cluster;
  let operator: OperatorProcess;
  let twin: Promise<ProcessResult> | null = null;
  beforeAll(async () => {
    const node = { diskMiB: 2500, kubelet: ONE_POD, shutdownGraceSeconds: GRANTED_SECONDS };
    cluster = await startCluster({ nodes: [node, node, node], images: [OPERATOR_IMAGE], controllerManager: TIMERS });
    await provideRuns(cluster);
    await cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLES, 'kubernetes/runs.yaml')]);
    operator = await startOperator(cluster);
    twin = uninterruptedTorchrun(environment, STEPS);
  });
  afterAll(async () => {
    await Promise.allSettled([twin]);
    await operator?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const telling = (job: string, work: () => Promise<void>): Promise<void> =>
    tellingState(cluster, work).catch(async (thrown: unknown) => {
      throw new Error(`${String(thrown)}\n\n${operator.said()}\n\n${JSON.stringify((await runOf(cluster, job))?.status)}`, {
        cause: thrown,
      });
    });

  it('trains alone in an image without glibc, under Pod Security restricted, and one event says so', () =>
    telling('alone', async () => {
      const [namespace, objects] = ['restricted', (kinds: string) => kinds.replace('/default/', '/restricted/')];
      const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
      await cluster.api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
      await cluster.api.create(objects(GANG_JOBS), ALONE);
      await eventually('the end of the job', async () => isSucceeded(await cluster.api.get(`${objects(GANG_JOBS)}/alone`)));
      expect(await cluster.api.text(`${objects(PODS)}/alone-master-0/log?container=pytorch`)).toBe('trained as $(NOBODY) 0 [--]\n');
      const status = await eventually('the record of its end', async () => {
        const found = (await cluster.api.list(objects(RUNS)))[0]?.status;
        return found?.phase === 'Succeeded' ? found : null;
      });
      expect(status).toMatchObject({ attempt: 1, supervision: 'NOT_RUNNABLE' });
      const told = await eventually('the event', async () => {
        const events = (await cluster.api.list(`/api/v1/namespaces/${namespace}/events`)) as readonly unknown[];
        return JSON.stringify(events).match(/"reason":"Unsupervised"/g);
      });
      expect(told).toHaveLength(1);
    }));

  /** Plays one cause, and returns what came of it once the next attempt trains. */
  const play = async (job: string, cause: GangCause, attempt: number, before: number): Promise<GangRow> => {
    const pod = podOfRole(job, cause.victim);
    const node = String((await cluster.api.get(`${PODS}/${pod}`))?.spec?.nodeName);
    const struck = { cluster, job, victim: cause.victim, pod, node };
    await cause.interrupt(struck);
    const step = await whenGangTrains(cluster, job, attempt + 1);
    const nowMs = Date.now();
    const attempts = ((await runOf(cluster, job))?.status?.attempts ?? []) as readonly Ended[];
    const ended = attempts.find(({ number }) => number === attempt);
    const lostMs = await declaredLostMs(cluster, node);
    const seconds = Math.round((nowMs - (lostMs ?? Date.parse(ended?.detectedAt ?? ''))) / 1000);
    await cause.relieve?.(struck);
    const row = { title: cause.title, cause: String(ended?.end?.cause), step, seconds };
    console.log(gangRowText(row));
    expect(cause.causes, gangRowText(row)).toContain(row.cause);
    // Where no grace is left for a last save, the attempt may resume from the same step as before.
    expect(step, gangRowText(row)).toBeGreaterThanOrEqual(cause.isSaved ? before + 1 : before);
    return row;
  };

  for (const { job, causes } of PLAYS) {
    it(`ends like its uninterrupted twin after ${causes.map(({ title }) => title).join(', and ')}`, { timeout: WHOLE_MS }, () =>
      telling(job, async () => {
        const orders = ordersOf(cluster, job);
        mkdirSync(orders);
        await cluster.api.create(GANG_JOBS, manifest(job, environment));
        let step = await whenGangTrains(cluster, job, 1);
        const rows: GangRow[] = [];
        for (const [index, cause] of causes.entries()) {
          const row = await play(job, cause, index + 1, step);
          ({ step } = row);
          rows.push(row);
        }
        writeFileSync(join(orders, 'go'), '');
        const status = await whenRunEnded(cluster, job);
        expect(status).toMatchObject({ phase: 'Succeeded', supervision: 'SUPERVISED', attempt: causes.length + 1 });
        // The time to live of the job is 0: nothing is left of it but the record.
        await eventually('the job to be deleted', async () => ((await cluster.api.get(`${GANG_JOBS}/${job}`)) === null ? true : null));
        const { code, stdout, stderr } = (await twin) ?? { code: null, stdout: '', stderr: 'no twin was started' };
        expect(code, stderr).toBe(0);
        const [expected, ...same] = weightsIn(stdout);
        expect(same).toEqual([expected]);
        for (const rank of [0, 1]) expect(weightsIn(readFileSync(join(orders, `ended-${rank}`), 'utf8'))).toEqual([expected]);
        if (isRecorded) await writeGangTable(cluster, job, rows);
      }),
    );
  }
});
