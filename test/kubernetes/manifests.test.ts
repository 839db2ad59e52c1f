import { globSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProcess } from '../support/run-process.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoCluster } from './cluster/facility.ts';
import { eventually } from './cluster/wait.ts';
import { EXAMPLES, applyExample, fillExampleImage, imageOf, providePrograms, provideRuns } from './scenario/example.ts';
import { hostPython } from './scenario/host-trees.ts';
import { JOBS, PODS, cordon, podsOf, trueConditions } from './scenario/objects.ts';
import { definePyTorchJobs } from './scenario/pytorchjob-kind.ts';
import { tellingState } from './scenario/state.ts';
import { manifestsIn, tryManifest, tryPods } from './scenario/tried-manifests.ts';

const reason = whyNoCluster();
/** As the published patch has it. */
const STEPS = '2000';
const TWIN = `from line import TOTAL, Model
model = Model()
for step in range(TOTAL): model.train_one_step(step)
print(f"slope {model.slope!r} offset {model.offset!r}")`;

const MANIFESTS = globSync(join(EXAMPLES, 'kubernetes/{job,pytorchjob,indexed}/*.yaml'))
  .filter((path) => !path.endsWith('kustomization.yaml'))
  .sort();

describe.skipIf(reason !== null)(`the example for Kubernetes${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  beforeAll(async () => {
    const node = { diskMiB: 1200 };
    const images = [{ name: imageOf('stdlib'), fill: (folder: string) => fillExampleImage(folder, 'stdlib') }];
    cluster = await startCluster({ nodes: [node, node], images });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  describe('as it is written', () => {
    beforeAll(() => definePyTorchJobs(cluster));

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

  it('is resumed on the other node by its own Job, with one executable and without Node in its image, and ends like its twin', () =>
    tellingState(cluster, async () => {
      const runs = await provideRuns(cluster);
      await providePrograms(cluster, { python: hostPython() });
      await applyExample(cluster);

      const checkpoints = (): string[] => readdirSync(join(runs, 'stdlib')).filter((name) => name.startsWith('step-'));
      const pod = await eventually('a checkpoint', async () => {
        const [first] = await podsOf(cluster, 'stdlib');
        if (/^(Succeeded|Failed)$/.test(String(first?.status?.phase))) throw new Error(`too soon: ${JSON.stringify(first?.status)}`);
        return first !== undefined && readdirSync(runs).includes('stdlib') && checkpoints().length > 0 ? first : null;
      });
      await cordon(cluster, String(pod.spec.nodeName), true);
      await cluster.api.remove(`${PODS}/${pod.metadata.name}`);
      const job = await eventually('the end of the Job', async () => {
        const found = await cluster.api.get(`${JOBS}/stdlib`);
        return trueConditions(found).some(({ type }) => type === 'Complete' || type === 'Failed') ? found : null;
      });
      const last = (await podsOf(cluster, 'stdlib')).find(({ metadata }) => metadata.uid !== pod.metadata.uid);
      const log = (await cluster.api.text(`${PODS}/${last?.metadata.name}/log`)) ?? '';
      expect(
        trueConditions(job).map(({ type }) => type),
        log,
      ).toContain('Complete');
      expect(last?.spec?.nodeName).not.toBe(pod.spec.nodeName);
      expect(Number(log.match(/^from step (\d+)$/m)?.[1])).toBeGreaterThan(200);
      const twin = await runProcess('python3', ['-c', TWIN, STEPS, '0'], {
        env: { PATH: process.env['PATH'], PYTHONPATH: join(EXAMPLES, 'stdlib') },
      });
      expect(log).toContain(twin.stdout);
    }));
});
