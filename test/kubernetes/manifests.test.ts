import { globSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../support/run-process.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { BASE_IMAGE } from './cluster/runtime.ts';
import { eventually } from './cluster/wait.ts';
import { cronRun } from './scenario/cron-run.ts';
import { EXAMPLES, HELD_IMAGE, provideForJobs } from './scenario/example.ts';
import { hostTrees, whyNoTrainers } from './scenario/host-trees.ts';
import { indexedRuns } from './scenario/indexed-runs.ts';
import { PODS, trueConditions } from './scenario/objects.ts';
import { definePyTorchJobs } from './scenario/pytorchjob-kind.ts';
import { tellingState } from './scenario/state.ts';
import { manifestsIn, tryManifest, tryPods } from './scenario/tried-manifests.ts';
import { uninterrupted } from './scenario/twin.ts';

const reason = whyNoTrainers();
const READ_MEMORY = `
import { containerMemory } from '${ROOT}src/supervisor/notices/container-memory.ts';
console.log(JSON.stringify(containerMemory()));
`;
const KINDS = ['cronjob', 'indexed', 'job', 'pytorchjob'];
const MANIFESTS = globSync(join(EXAMPLES, `kubernetes/{${KINDS.join(',')}}/*.yaml`))
  .filter((path) => !path.endsWith('kustomization.yaml'))
  .sort();

describe.skipIf(reason !== null)(`the example for Kubernetes${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let twin: string;
  beforeAll(async () => {
    const node = { diskMiB: 4096 };
    twin = await uninterrupted();
    cluster = await startCluster({ nodes: [node, node], images: [HELD_IMAGE] });
    await provideForJobs(cluster);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  describe('as written', () => {
    beforeAll(() => definePyTorchJobs(cluster));

    it('exists for every kind', () => {
      expect(new Set(MANIFESTS.map((path) => basename(dirname(path))))).toEqual(new Set(KINDS));
    });

    it.each(MANIFESTS.map((path) => [relative(EXAMPLES, path), path]))(
      'the API server accepts %s and the pods in it, with every field known',
      async (_, path) => {
        let pods = 0;
        for (const manifest of manifestsIn(path)) {
          await tryManifest(cluster, manifest);
          pods += await tryPods(cluster, manifest);
        }
        expect(pods).toBeGreaterThan(0);
      },
    );

    it('the API server refuses a misspelled field of a PyTorchJob and of its pods', async () => {
      const [manifest] = manifestsIn(join(EXAMPLES, 'kubernetes/pytorchjob/stdlib.yaml'));
      if (manifest === undefined) throw new Error('there is no manifest');
      const master = manifest.spec.pytorchReplicaSpecs?.['Master'];
      const specs = (fields: object): typeof manifest => ({
        ...manifest,
        spec: { pytorchReplicaSpecs: { Master: { template: { spec: {} }, ...master, ...fields } } },
      });
      await expect(tryManifest(cluster, specs({ restartPolice: 'ExitCode' }))).rejects.toThrow('unknown field');
      await expect(tryManifest(cluster, specs({ restartPolicy: 'Sometimes' }))).rejects.toThrow('Unsupported value');
      const template = { spec: { ...master?.template.spec, terminationGracePeriod: 120 } };
      await expect(tryPods(cluster, specs({ template }))).rejects.toThrow('unknown field');
    });
  });

  it.concurrent('as a container, sees its own memory where Holdfast reads it', async () => {
    const { path, mounts: volumeMounts, volumes } = hostTrees();
    // Pods see the pinned runtime in the tree, but maybe not the runtime of this test.
    const command = [join(ROOT, 'node_modules/.bin/node'), '--input-type=module', '--eval', READ_MEMORY];
    const main = { name: 'main', image: BASE_IMAGE, imagePullPolicy: 'Never', command, volumeMounts };
    const container = { ...main, env: [{ name: 'PATH', value: path }], resources: { limits: { memory: '256Mi' } } };
    const spec = { restartPolicy: 'Never', containers: [container], volumes };
    await cluster.api.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'reader' }, spec });
    const pod = await eventually('the end of the pod', async () => {
      const found = await cluster.api.get(`${PODS}/reader`);
      return /^(Succeeded|Failed)$/.test(String(found?.status?.phase)) ? found : null;
    });
    expect(pod.status, JSON.stringify(pod.status)).toMatchObject({ phase: 'Succeeded' });
    const memory = JSON.parse((await cluster.api.text(`${PODS}/reader/log`)) ?? 'null') as { readonly usedBytes: number };
    expect(memory).toMatchObject({ limitBytes: 256 * 2 ** 20 });
    // More than nothing, and less than any other share: the memory of one running Node.
    expect(memory.usedBytes).toBeGreaterThan(2 ** 20);
    expect(memory.usedBytes).toBeLessThan(256 * 2 ** 20);
  });

  it.concurrent('as a CronJob with Forbid, a run that is due again is left alone, and ends like its twin', () =>
    tellingState(cluster, async () => {
      const { first, jobs, job, starts, result } = await cronRun(cluster, 'Forbid');
      expect(first.status?.phase).toBe('Running');
      expect({ jobs, job, starts, result }).toEqual({ jobs: 1, job: 'Complete', starts: [0], result: twin });
    }));

  it.concurrent('as a CronJob with Replace, a run that is due again is interrupted, resumes in the next Job, and ends like its twin', () =>
    tellingState(cluster, async () => {
      const { first, jobs, job, starts, result } = await cronRun(cluster, 'Replace');
      // 5 if a newer attempt replaced it before its last save was done.
      expect([143, 5]).toContain(first.status?.containerStatuses[0].state.terminated.exitCode);
      expect(first.status?.phase).toBe('Failed');
      expect({ jobs, job, result }).toEqual({ jobs: 1, job: 'Complete', result: twin });
      expect(starts[0]).toBe(0);
      expect([401, 411]).toContain(starts.at(-1));
    }));

  it.concurrent('as an indexed Job, an interrupted run resumes, and a run without a good checkpoint fails alone', async () => {
    const { job, exitCodes, starts, result } = await indexedRuns(cluster);
    expect(exitCodes).toEqual([[143, 0], [65], [0], [0]]);
    // The interrupted pod is not counted.
    expect(job.status).toMatchObject({ completedIndexes: '0,2,3', failedIndexes: '1', succeeded: 3, failed: 1 });
    expect(trueConditions(job).find(({ type }) => type === 'Failed')?.reason).toBe('FailedIndexes');
    expect(starts[0]).toBe(0);
    expect([401, 411]).toContain(starts[1]);
    expect(result).toBe(twin);
  });
});
