import { chmodSync, cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildExecutable } from '../../tools/binary/executable.ts';
import { ROOT, runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { findFacility, whyNoCluster } from './cluster/facility.ts';
import { fillBaseImage } from './cluster/image.ts';
import { eventually } from './cluster/wait.ts';
import { hostPython } from './scenario/host-trees.ts';
import { JOBS, PODS, cordon, podsOf, trueConditions } from './scenario/objects.ts';

const reason = whyNoCluster();
const IMAGE = 'holdfast.test/stdlib:1';
const EXAMPLES = join(ROOT, 'examples');
/** So slow that nobody can be too late to interrupt it. */
const [STEPS, STEP_SECONDS] = ['2000', '0.02'];
const TWIN = `from line import TOTAL, Model
model = Model()
for step in range(TOTAL): model.train_one_step(step)
print(f"slope {model.slope!r} offset {model.offset!r}")`;

/** All that is changed in the example that users copy: its image, where that comes from, and what the image lacks. */
function kustomization(): unknown {
  const container = '/spec/template/spec/containers/0';
  const python = hostPython();
  const trees = ['/usr', ...(python.startsWith('/usr') ? [] : [python])];
  const add = (path: string, value: unknown): unknown => ({ op: 'add', path, value });
  const patch = [
    add(`${container}/image`, IMAGE),
    add(`${container}/imagePullPolicy`, 'Never'),
    add(`${container}/command/-`, STEPS),
    add(`${container}/command/-`, STEP_SECONDS),
    add(`${container}/env/-`, { name: 'PATH', value: `/opt:${python}/bin:/usr/bin` }),
    ...trees.flatMap((path, index) => [
      add(`${container}/volumeMounts/-`, { name: `host-${index}`, mountPath: path, readOnly: true }),
      add('/spec/template/spec/volumes/-', { name: `host-${index}`, hostPath: { path } }),
    ]),
  ];
  return { resources: ['runs.yaml', 'stdlib.yaml'], patches: [{ target: { kind: 'Job' }, patch: JSON.stringify(patch) }] };
}

describe.skipIf(reason !== null)(`the example for Kubernetes${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let folder: ReturnType<typeof tempFolder>;
  const at = (name: string): string => join(folder.path, name);
  let cluster: Cluster;
  beforeAll(async () => {
    folder = tempFolder();
    for (const name of ['image/opt', 'image/app', 'manifests']) mkdirSync(at(name), { recursive: true });
    fillBaseImage(at('image'), findFacility().unpacked('bin/busybox'));
    await buildExecutable(at('image/opt/holdfast'));
    cpSync(join(EXAMPLES, 'stdlib'), at('image/app/stdlib'), { recursive: true });
    const node = { diskMiB: 1200 };
    cluster = await startCluster({ nodes: [node, node], images: [{ name: IMAGE, folder: at('image') }] });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
  });

  it('is resumed on the other node by its own Job, with one executable and without Node in its image, and ends like its twin', async () => {
    const runs = join(cluster.shared, 'runs');
    mkdirSync(runs);
    // As a provisioner of shared volumes gives it to the pod's group.
    chmodSync(runs, 0o777);
    await cluster.api.create('/api/v1/persistentvolumes', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'runs' },
      spec: { capacity: { storage: '100Gi' }, accessModes: ['ReadWriteMany'], hostPath: { path: runs } },
    });
    cpSync(join(EXAMPLES, 'kubernetes/job/stdlib.yaml'), at('manifests/stdlib.yaml'));
    cpSync(join(EXAMPLES, 'kubernetes/runs.yaml'), at('manifests/runs.yaml'));
    writeFileSync(at('manifests/kustomization.yaml'), JSON.stringify(kustomization()));
    await cluster.run([...cluster.kubectlCommand, 'apply', '-k', at('manifests')]);

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
  });
});
