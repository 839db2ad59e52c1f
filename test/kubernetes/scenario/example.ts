import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildExecutable } from '../../../tools/binary/executable.ts';
import { ROOT } from '../../support/run-process.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { findFacility } from '../cluster/facility.ts';
import { fillBaseImage } from '../cluster/image.ts';
import { hostPython } from './host-trees.ts';

export const EXAMPLES = join(ROOT, 'examples');

/** The folder of an image with one executable of ours, without Node, and the example's trainer where its manifest looks for it. */
export async function fillExampleImage(folder: string, trainer: string): Promise<void> {
  for (const name of ['opt', 'app']) mkdirSync(join(folder, name), { recursive: true });
  fillBaseImage(folder, findFacility().unpacked('bin/busybox'));
  await buildExecutable(join(folder, 'opt/holdfast'));
  cpSync(join(EXAMPLES, trainer), join(folder, 'app', trainer), { recursive: true });
}

interface ExampleChanges {
  readonly image: string;
  /** More words for the trainer's command line. */
  readonly args: readonly string[];
  /** More of the machine's folders, and where programs are looked for in them first. */
  readonly trees?: readonly string[];
  readonly path?: readonly string[];
  /** More changes, as JSON patches. */
  readonly more?: readonly unknown[];
}

/** The examples that users copy, with all that is changed in them: the image, where that comes from, and what the image lacks. */
export async function applyExample(cluster: Cluster, folder: string, files: readonly string[], changes: ExampleChanges): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const resources = files.map((file) => file.replaceAll('/', '-'));
  for (const [index, file] of files.entries()) cpSync(join(EXAMPLES, 'kubernetes', file), join(folder, resources[index] ?? ''));
  const patches = [{ target: { kind: 'Job' }, patch: JSON.stringify(patch(changes)) }];
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify({ resources, patches }));
  await cluster.run([...cluster.kubectlCommand, 'apply', '-k', folder]);
}

/** A volume that all nodes share, as a provisioner would give it to the examples' claim. */
export async function provideRuns(cluster: Cluster, path: string): Promise<void> {
  await cluster.api.create('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'runs' },
    spec: { capacity: { storage: '100Gi' }, accessModes: ['ReadWriteMany'], hostPath: { path } },
  });
}

function patch({ image, args, trees = [], path = [], more = [] }: ExampleChanges): readonly unknown[] {
  const container = '/spec/template/spec/containers/0';
  const python = hostPython();
  const folders = [...new Set(['/usr', ...(python.startsWith('/usr') ? [] : [python]), ...trees])];
  const add = (at: string, value: unknown): unknown => ({ op: 'add', path: at, value });
  return [
    add(`${container}/image`, image),
    add(`${container}/imagePullPolicy`, 'Never'),
    ...args.map((word) => add(`${container}/command/-`, word)),
    add(`${container}/env/-`, { name: 'PATH', value: ['/opt', ...path, `${python}/bin`, '/usr/bin'].join(':') }),
    ...folders.flatMap((each, index) => [
      add(`${container}/volumeMounts/-`, { name: `host-${index}`, mountPath: each, readOnly: true }),
      add('/spec/template/spec/volumes/-', { name: `host-${index}`, hostPath: { path: each } }),
    ]),
    ...more,
  ];
}
