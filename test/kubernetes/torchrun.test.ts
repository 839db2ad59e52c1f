import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';
import type { KubeObject } from './cluster/api.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoCluster } from './cluster/facility.ts';
import { eventually } from './cluster/wait.ts';
import { EXAMPLES, applyExample, fillExampleImage, provideRuns } from './scenario/example.ts';
import { JOBS, PODS, podsOf, trueConditions } from './scenario/objects.ts';

const IMAGE = 'holdfast.test/torchrun:1';
/** So many that nobody can be too late to interrupt them. */
const STEPS = '2000';
/** Two ranks that wait for each other at every step are slow where others compute. */
const PATIENCE_MS = 15 * 60_000;
const CONTAINER = '/spec/template/spec/containers/0';
const FINDER = join(ROOT, 'test/frameworks/setup.sh');
const torch = findTorch();
const reason = whyNoCluster() ?? (torch === null ? `torch is not installed: ${FINDER} torch` : null);

/** The folder of an environment with torch, when it was installed. */
function findTorch(): string | null {
  try {
    const found = execFileSync(FINDER, ['--find', 'torch'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const python = found.match(/^torch=(.*)$/m)?.[1];
    return python === undefined ? null : dirname(dirname(python));
  } catch {
    return null;
  }
}

/** The Python that an environment was made with lies elsewhere. */
function pythonOf(environment: string): string {
  const home = readFileSync(join(environment, 'pyvenv.cfg'), 'utf8').match(/^home = (.*)$/m)?.[1] ?? '/usr/bin';
  return dirname(realpathSync(home));
}

/** What all ranks say that they have learned. */
function weightsIn(text: string): readonly string[] {
  return [...text.matchAll(/^finished with weights (\w+)$/gm)].map(([, weights]) => String(weights));
}

describe.skipIf(reason !== null)(`torchrun in two pods${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  const environment = torch ?? '';
  let folder: ReturnType<typeof tempFolder>;
  const at = (name: string): string => join(folder.path, name);
  let cluster: Cluster;
  beforeAll(async () => {
    folder = tempFolder();
    await fillExampleImage(at('image'), 'torchrun');
    const node = { diskMiB: 1200 };
    cluster = await startCluster({ nodes: [node, node], images: [{ name: IMAGE, folder: at('image') }] });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
  });

  const logOf = async (pod: string): Promise<string> => (await cluster.api.text(`${PODS}/${pod}/log`)) ?? '';

  it('both go on from one checkpoint when one of them was deleted, and end like their twin', async () => {
    const runs = join(cluster.shared, 'runs');
    mkdirSync(runs);
    chmodSync(runs, 0o777);
    await provideRuns(cluster, runs);
    const python = pythonOf(environment);
    await applyExample(cluster, at('manifests'), ['runs.yaml', 'indexed/torchrun.yaml'], {
      image: IMAGE,
      args: [STEPS],
      trees: [environment, ...(python.startsWith('/usr') ? [] : [python])],
      path: [join(environment, 'bin')],
      // The test's machine has less than a training machine, and nobody waits for a save that comes after a minute.
      more: [
        { op: 'replace', path: `${CONTAINER}/resources`, value: { requests: { cpu: '100m', memory: '256Mi' } } },
        { op: 'test', path: `${CONTAINER}/command/4`, value: '--every=auto' },
        { op: 'replace', path: `${CONTAINER}/command/4`, value: '--every=100steps' },
      ],
    });
    const hasCheckpoint = (): boolean =>
      readdirSync(runs).some((run) => readdirSync(join(runs, run)).some((name) => name.startsWith('step-')));
    const second = await eventually('a checkpoint', async () => {
      const pods = await podsOf(cluster, 'torchrun');
      const ended = pods.find(({ status }) => /^(Succeeded|Failed)$/.test(String(status?.phase)));
      if (ended !== undefined) throw new Error(`${JSON.stringify(ended.status)}\n${await logOf(ended.metadata.name)}`);
      return hasCheckpoint() ? (pods.find(({ metadata }) => metadata.name.startsWith('torchrun-1-')) ?? null) : null;
    });
    await cluster.api.remove(`${PODS}/${second.metadata.name}`);
    const whenOver = async (): Promise<KubeObject | null> => {
      const found = await cluster.api.get(`${JOBS}/torchrun`);
      return trueConditions(found).some(({ type }) => type === 'Complete' || type === 'Failed') ? found : null;
    };
    const job = await eventually('the end of the Job', whenOver, { patienceMs: PATIENCE_MS });
    const finished = (await podsOf(cluster, 'torchrun')).filter(({ status }) => status?.phase === 'Succeeded');
    const logs = await Promise.all(finished.map(({ metadata }) => logOf(metadata.name)));
    expect(
      trueConditions(job).map(({ type }) => type),
      logs.join('\n'),
    ).toContain('Complete');
    expect(logs).toHaveLength(2);
    for (const log of logs) expect(Number(log.match(/^rank \d from step (\d+)$/m)?.[1])).toBeGreaterThan(99);

    const twin = await runProcess(
      join(environment, 'bin/torchrun'),
      ['--standalone', '--nproc-per-node=2', join(EXAMPLES, 'torchrun/train.py'), STEPS],
      { env: { PATH: process.env['PATH'], PYTHONPATH: join(ROOT, 'python'), OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' } },
    );
    expect(twin.code, twin.stderr).toBe(0);
    expect(new Set(weightsIn(logs.join('\n')))).toEqual(new Set(weightsIn(twin.stdout)));
  });
});
