import { chmodSync, copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runProcess } from '../../support/run-process.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { findFacility } from '../cluster/facility.ts';
import { fillBaseImage } from '../cluster/image.ts';
import { hostPython } from './host-trees.ts';
import { TRAINER } from './training-job.ts';

export const EXAMPLES = join(ROOT, 'examples');

/** The image that an example's manifest names. */
export const imageOf = (trainer: string): string => `registry.example/holdfast-${trainer}:1`;

/**
 * Fills the folder of an image: our single executable, no Node, and the example's trainer at the
 * path in its manifest.
 */
export async function fillExampleImage(folder: string, trainer: string): Promise<void> {
  for (const name of ['opt', 'app']) mkdirSync(join(folder, name), { recursive: true });
  fillBaseImage(folder, findFacility().unpacked('bin/busybox'));
  await buildExecutable(join(folder, 'opt/holdfast'));
  cpSync(join(EXAMPLES, trainer), join(folder, 'app', trainer), { recursive: true });
}

/**
 * Builds in a child process that ends with this one, because the build prints much that no test
 * needs.
 */
async function buildExecutable(out: string): Promise<void> {
  const line = ['--pdeathsig', 'KILL', process.execPath, join(ROOT, 'tools/build-binary.ts'), out];
  const { code, stdout, stderr } = await runProcess('setpriv', line);
  if (code !== 0) throw new Error(`the executable cannot be built (exit code ${code}): ${stdout}${stderr}`);
}

/** The image of `examples/kubernetes`, unchanged. */
export const EXAMPLE_IMAGE = { name: imageOf('stdlib'), content: (folder: string) => fillExampleImage(folder, 'stdlib') };

/** The example's image, with a trainer that waits to be interrupted in place of the example's. */
export const HELD_IMAGE = {
  name: imageOf('stdlib'),
  async content(folder: string): Promise<void> {
    await fillExampleImage(folder, 'stdlib');
    copyFileSync(TRAINER, join(folder, 'app/stdlib/train.py'));
  },
};

/** Adds a program of a Python package, without the path of the machine's Python in it. */
export function addPythonProgram(folder: string, name: string, module: string): void {
  const path = join(folder, 'opt', name);
  writeFileSync(path, `#!/bin/sh\nexec python3 -m ${module} "$@"\n`);
  chmodSync(path, 0o755);
}

/** Applies the published examples with the published patch and no other change. */
export async function applyExample(cluster: Cluster, overlay = ''): Promise<void> {
  await cluster.run([...cluster.kubectlCommand, 'apply', '-k', join(EXAMPLES, 'kubernetes', overlay)]);
}

interface NodePrograms {
  /** The folder of a Python installation. */
  readonly python: string;
  /** The folder of its packages. */
  readonly packages?: string;
}

/**
 * Gives the nodes what the published patch mounts from them: a Python that is not in `/usr`, and
 * its packages.
 */
export async function providePrograms(cluster: Cluster, { python, packages }: NodePrograms): Promise<void> {
  const trees = [
    ['python', python.startsWith('/usr') ? undefined : python],
    ['packages', packages],
  ] as const;
  for (const [name, folder] of trees) {
    const place = `/var/lib/holdfast/${name}`;
    await cluster.run(['mkdir', '-p', place]);
    if (folder !== undefined) await cluster.run(['mount', '--bind', folder, place]);
  }
}

/**
 * Provides everything that the Jobs of a test need beside an image: a Python, and a volume with its
 * claim.
 */
export async function provideForJobs(cluster: Cluster): Promise<void> {
  await providePrograms(cluster, { python: hostPython() });
  await provideRuns(cluster);
  await cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLES, 'kubernetes/runs.yaml')]);
}

/** The folder of the volume on the machine. */
export const runsOf = (cluster: Cluster): string => join(cluster.shared, 'runs');

/**
 * Makes a volume that all nodes share, bound to the examples' claim, writable for the pods' group.
 */
export async function provideRuns(cluster: Cluster): Promise<string> {
  const path = runsOf(cluster);
  mkdirSync(path);
  chmodSync(path, 0o777);
  await cluster.api.create('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'runs' },
    spec: { capacity: { storage: '100Gi' }, accessModes: ['ReadWriteMany'], hostPath: { path } },
  });
  return path;
}
