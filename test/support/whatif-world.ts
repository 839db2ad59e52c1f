import { join } from 'node:path';
import type { KubeObject } from '../../src/kube/objects/object.ts';
import { readDump } from '../../src/kube/objects/read-dump.ts';
import { worldOf, type World } from '../../src/whatif/world/world.ts';
import { objects } from './cluster-objects.ts';
import { ROOT } from './run-process.ts';

/** The objects of a file from the examples of `whatif`. */
export function exampleObjects(name: string): readonly KubeObject[] {
  return readDump([join(ROOT, 'examples/whatif', name)], '').objects;
}

/** The examples' snapshot with more objects. */
export function exampleWorld(...more: readonly unknown[]): World {
  return worldOf([...exampleObjects('cluster.json'), ...objects(...more)], null);
}

/** A world with only these objects, at nine o’clock. */
export function world(...values: readonly unknown[]): World {
  return worldOf(objects(...values), Date.parse('2026-11-18T09:00:00Z'));
}

/** A node with this many GPUs. */
export function gpuNode(name: string, gpus: number, more: { readonly labels?: object; readonly spec?: object } = {}): unknown {
  return {
    kind: 'Node',
    metadata: { name, uid: `node-${name}`, labels: { 'kubernetes.io/hostname': name, ...more.labels } },
    spec: more.spec ?? {},
    status: {
      allocatable: { cpu: '64', memory: '512Gi', pods: '110', 'nvidia.com/gpu': String(gpus) },
      nodeInfo: { kubeletVersion: 'v1.35.8' },
    },
  };
}

/** The fields of a pod that the tests set. */
export interface GpuPod {
  readonly node?: string;
  readonly gpus?: number;
  readonly priority?: number;
  readonly owner?: readonly [kind: string, name: string];
  readonly labels?: object;
  readonly annotations?: object;
  readonly spec?: object;
  readonly startTime?: string;
}

/** A pod with GPUs; it runs if it has a node. */
export function gpuPod(
  name: string,
  { node, gpus = 1, priority = 0, owner, labels, annotations, spec, startTime = '2026-11-18T08:00:00Z' }: GpuPod,
): unknown {
  return {
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'ml',
      uid: `pod-${name}`,
      creationTimestamp: startTime,
      labels,
      annotations,
      ...(owner === undefined ? {} : { ownerReferences: [{ kind: owner[0], name: owner[1], uid: `uid-${owner[1]}`, controller: true }] }),
    },
    spec: {
      priority,
      ...(node === undefined ? {} : { nodeName: node }),
      containers: [
        { name: 'main', resources: { requests: { 'nvidia.com/gpu': String(gpus) }, limits: { 'nvidia.com/gpu': String(gpus) } } },
      ],
      ...spec,
    },
    status: node === undefined ? { phase: 'Pending' } : { phase: 'Running', startTime },
  };
}
