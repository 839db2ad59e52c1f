import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { customResources } from '../../src/operator/install/job-definitions.ts';
import { ROOT } from '../support/run-process.ts';
import type { KubeObject } from './cluster/api.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoTorch } from './cluster/torch.ts';
import { eventually } from './cluster/wait.ts';
import { EXAMPLES, provideRuns } from './scenario/example.ts';
import { GANG_PATIENCE_MS, runOf, whenRunEnded } from './scenario/gang-attempt.ts';
import { GANG_JOBS, ordersOf } from './scenario/gang-causes.ts';
import { whyNoTrainers } from './scenario/host-trees.ts';
import { cordon, PODS, trueConditions } from './scenario/objects.ts';
import { type OperatorProcess, runOperator } from './scenario/operator-process.ts';
import { tellingState } from './scenario/state.ts';
import { findTorch } from './scenario/torch-environment.ts';
import { torchTemplate } from './scenario/torch-gang.ts';

const JOB = 'elastic';
const TOTAL = 40;
const AUTOSCALER = `/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/${JOB}`;
const torch = findTorch();
const reason = whyNoTrainers() ?? (torch === null ? whyNoTorch() : null);

/**
 * By default, the torchrun of torch 2.15 publishes the address of rank 0 only once: a worker that
 * comes later waits for it in vain, and takes the others down with it.
 */
const PUBLISH_AGAIN = { TORCH_DISABLE_SHARE_RDZV_TCP_STORE: '1' };

/** The manifest as a user has it for v1: one to three workers, which meet again within seconds. */
function manifest(environment: string): Readonly<Record<string, unknown>> {
  const args = [join(ROOT, 'test/kubernetes/trainers/elastic.py'), `/runs/${JOB}`, String(TOTAL)];
  const template = torchTemplate({ environment, args, env: PUBLISH_AGAIN, pod: { terminationGracePeriodSeconds: 10 } });
  const conf = { last_call_timeout: '3', keep_alive_interval: '1', keep_alive_max_attempt: '3' };
  return {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: { name: JOB },
    spec: {
      elasticPolicy: {
        rdzvBackend: 'c10d',
        minReplicas: 1,
        maxReplicas: 3,
        maxRestarts: 100,
        rdzvConf: Object.entries(conf).map(([key, value]) => ({ key, value })),
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }],
      },
      nprocPerNode: '1',
      pytorchReplicaSpecs: { Worker: { replicas: 2, restartPolicy: 'ExitCode', template } },
    },
  };
}

/** What rank 0 keeps. */
interface Snapshot {
  readonly sum: number;
  /** How many workers trained each step. */
  readonly workers: readonly number[];
}

describe.skipIf(reason !== null)(`an elastic PyTorchJob${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let operator: OperatorProcess;
  beforeAll(async () => {
    const node = { diskMiB: 2500 };
    cluster = await startCluster({ nodes: [node, node] });
    await provideRuns(cluster);
    const kinds = join(cluster.folder, 'kinds.json');
    writeFileSync(kinds, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: customResources() }));
    await cluster.run([...cluster.kubectlCommand, 'apply', '--server-side', '-f', kinds]);
    await cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLES, 'kubernetes/runs.yaml')]);
    operator = runOperator(cluster, []);
  });
  afterAll(async () => {
    await operator?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const telling = (work: () => Promise<void>): Promise<void> =>
    tellingState(cluster, work).catch(async (thrown: unknown) => {
      const status = JSON.stringify((await runOf(cluster, JOB))?.status);
      throw new Error(`${String(thrown)}\n\n${operator.said()}\n\n${status}\n\n${JSON.stringify(snapshot())}`, { cause: thrown });
    });
  const snapshot = (): Snapshot => {
    const path = join(ordersOf(cluster, JOB), 'snapshot');
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Snapshot) : { sum: 0, workers: [] };
  };
  const whenTrainedBy = async (workers: number): Promise<void> => {
    const { length } = snapshot().workers;
    const hasNew = (): true | null => (snapshot().workers.slice(length).includes(workers) ? true : null);
    await eventually(`steps of ${workers} workers`, hasNew, { patienceMs: GANG_PATIENCE_MS });
  };
  const scale = (replicas: number): Promise<string> =>
    cluster.run([...cluster.kubectlCommand, 'scale', `pytorchjob/${JOB}`, `--replicas=${replicas}`]);
  const pod = (index: number): Promise<KubeObject | null> => cluster.api.get(`${PODS}/${JOB}-worker-${index}`);

  it('trains on while a worker is lost, gets it back at the same index, and follows kubectl scale up and down', () =>
    telling(async () => {
      mkdirSync(ordersOf(cluster, JOB));
      await cluster.api.create(GANG_JOBS, manifest(torch ?? ''));
      await whenTrainedBy(2);
      const host = (await pod(0))?.metadata.uid;
      const lost = await pod(1);

      // No node takes the replacement: the other worker trains alone.
      for (const node of ['node-1', 'node-2']) await cordon(cluster, node, true);
      await cluster.api.remove(`${PODS}/${JOB}-worker-1`);
      await whenTrainedBy(1);
      for (const node of ['node-1', 'node-2']) await cordon(cluster, node, false);
      await whenTrainedBy(2);
      expect((await pod(1))?.metadata.uid).not.toBe(lost?.metadata.uid);

      await scale(3);
      await whenTrainedBy(3);
      await scale(2);
      await whenTrainedBy(2);
      await eventually('the third worker to go', async () => ((await pod(2)) === null ? true : null));
      // The autoscaler of the job reads the same subresource, with a selector that it can use.
      await eventually('the autoscaler to read the scale', async () =>
        trueConditions(await cluster.api.get(AUTOSCALER)).some(({ type }) => type === 'AbleToScale') ? true : null,
      );

      writeFileSync(join(ordersOf(cluster, JOB), 'go'), '');
      const status = await whenRunEnded(cluster, JOB);
      // One attempt from the beginning to the end, with one interruption that cost nothing.
      expect(status).toMatchObject({ phase: 'Succeeded', attempt: 1, budgets: { interruptions: 1, errors: 0 } });
      expect((await pod(0))?.metadata.uid).toBe(host);
      // Every step counts once, whoever trained it.
      const { sum, workers } = snapshot();
      expect(sum).toBeCloseTo(workers.length, 3);
    }));
});
