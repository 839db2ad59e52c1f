import { globSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { cronRun } from './scenario/cron-run.ts';
import { EXAMPLES, HELD_IMAGE, provideForJobs } from './scenario/example.ts';
import { whyNoTrainers } from './scenario/host-trees.ts';
import { indexedRuns } from './scenario/indexed-runs.ts';
import { trueConditions } from './scenario/objects.ts';
import { definePyTorchJobs } from './scenario/pytorchjob-kind.ts';
import { tellingState } from './scenario/state.ts';
import { manifestsIn, tryManifest, tryPods } from './scenario/tried-manifests.ts';
import { uninterrupted } from './scenario/twin.ts';

const reason = whyNoTrainers();
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

  describe('as it is written', () => {
    beforeAll(() => definePyTorchJobs(cluster));

    it('is there in every kind', () => {
      expect(new Set(MANIFESTS.map((path) => basename(dirname(path))))).toEqual(new Set(KINDS));
    });

    it.each(MANIFESTS.map((path) => [relative(EXAMPLES, path), path]))(
      '%s is taken by the API server, and so are the pods it describes, with every field known',
      async (_, path) => {
        let pods = 0;
        for (const manifest of manifestsIn(path)) {
          await tryManifest(cluster, manifest);
          pods += await tryPods(cluster, manifest);
        }
        expect(pods).toBeGreaterThan(0);
      },
    );

    it('a field that is spelled wrongly would be refused, of a PyTorchJob and of its pods', async () => {
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

  it.concurrent('as a CronJob that forbids, a run that is due again is left alone, and ends like its twin', () =>
    tellingState(cluster, async () => {
      const { first, jobs, job, starts, result } = await cronRun(cluster, 'Forbid');
      expect(first.status?.phase).toBe('Running');
      expect({ jobs, job, starts, result }).toEqual({ jobs: 1, job: 'Complete', starts: [0], result: twin });
    }));

  it.concurrent('as a CronJob that replaces, a run that is due again is interrupted, goes on in the next Job, and ends like its twin', () =>
    tellingState(cluster, async () => {
      const { first, jobs, job, starts, result } = await cronRun(cluster, 'Replace');
      // Replaced by a newer attempt where that was quicker than its last save.
      expect([143, 5]).toContain(first.status?.containerStatuses[0].state.terminated.exitCode);
      expect(first.status?.phase).toBe('Failed');
      expect({ jobs, job, result }).toEqual({ jobs: 1, job: 'Complete', result: twin });
      expect(starts[0]).toBe(0);
      expect([401, 411]).toContain(starts.at(-1));
    }));

  it.concurrent('as an indexed Job, a run that was interrupted goes on, and one of which nothing is good fails alone', async () => {
    const { job, exitCodes, starts, result } = await indexedRuns(cluster);
    expect(exitCodes).toEqual([[143, 0], [65], [0], [0]]);
    // What was interrupted is not counted.
    expect(job.status).toMatchObject({ completedIndexes: '0,2,3', failedIndexes: '1', succeeded: 3, failed: 1 });
    expect(trueConditions(job).find(({ type }) => type === 'Failed')?.reason).toBe('FailedIndexes');
    expect(starts[0]).toBe(0);
    expect([401, 411]).toContain(starts[1]);
    expect(result).toBe(twin);
  });
});
