import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoCluster } from './cluster/facility.ts';
import { eventually } from './cluster/wait.ts';
import { EXAMPLES, applyExample, fillExampleImage, imageOf, providePrograms, provideRuns } from './scenario/example.ts';
import { hostPython } from './scenario/host-trees.ts';
import { JOBS, PODS, cordon, podsOf, trueConditions } from './scenario/objects.ts';
import { tellingState } from './scenario/state.ts';

const reason = whyNoCluster();
/** As the published patch has it. */
const STEPS = '2000';
const TWIN = `from line import TOTAL, Model
model = Model()
for step in range(TOTAL): model.train_one_step(step)
print(f"slope {model.slope!r} offset {model.offset!r}")`;

describe.skipIf(reason !== null)(`the example for Kubernetes${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let folder: ReturnType<typeof tempFolder>;
  const at = (name: string): string => join(folder.path, name);
  let cluster: Cluster;
  beforeAll(async () => {
    folder = tempFolder();
    await fillExampleImage(at('image'), 'stdlib');
    const node = { diskMiB: 1200 };
    cluster = await startCluster({ nodes: [node, node], images: [{ name: imageOf('stdlib'), folder: at('image') }] });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
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
