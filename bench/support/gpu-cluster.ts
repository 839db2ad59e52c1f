import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRng } from '../../src/core/rng.ts';
import { objectOf, type KubeObject } from '../../src/kube/objects/object.ts';
import { Cluster } from '../../src/scheduler/cluster/cluster.ts';
import { clusterInputOf } from '../../src/scheduler/objects/cluster-input.ts';
import { scheduleAll } from '../../src/scheduler/schedule-all.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** The trace of a real GPU cluster, beside the clone where it is present. */
const OPENB = join(ROOT, '..', 'shared', 'data', 'openb');
const RELEASE = { minor: 35, hasGroups: false } as const;
const NOW = '2026-11-19T12:00:00Z';
/** Training pods share a Job, and so a gang. */
const GANG = 8;
const [TRAINING, SERVICE_PRIORITY, INFERENCE] = [0, 500, 1000];

interface NodeRow {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpus: number;
  readonly model: string;
}

interface PodRow extends Omit<NodeRow, 'model'> {
  readonly isTraining: boolean;
}

/** A cluster as the API has it. */
export interface GpuCluster {
  /** Where its nodes and pods are from, for a description. */
  readonly origin: string;
  readonly nodes: readonly object[];
  /** On no node, in the order in which they came. */
  readonly pods: readonly object[];
  /** Jobs and priority classes. */
  readonly others: readonly object[];
}

/** The trace of 1,213 nodes and 8,152 pods; a synthetic cluster of that size where it is absent. */
export function tracedCluster(): GpuCluster {
  if (!existsSync(OPENB)) return syntheticCluster(1213);
  const rows = (name: string): readonly (readonly string[])[] =>
    readFileSync(join(OPENB, name), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(','));
  const nodes = rows('nodes.csv').map(
    ([, cpu, memory, gpus, model = '']): NodeRow => ({ cpuMilli: Number(cpu), memoryMib: Number(memory), gpus: Number(gpus), model }),
  );
  const pods = rows('pods.csv').map(
    ([, cpu, memory, gpus, , , qos]): PodRow => ({
      cpuMilli: Number(cpu),
      memoryMib: Number(memory),
      gpus: Number(gpus),
      isTraining: qos === 'BE',
    }),
  );
  return clusterOf('the openb trace of a real GPU cluster', nodes, pods);
}

/** A cluster with the shapes and the shares of the trace, of any size. */
export function syntheticCluster(count: number): GpuCluster {
  const rng = createRng(count);
  const nodes = Array.from({ length: count }, () => rng.pick(NODE_SHAPES));
  const pods = Array.from({ length: Math.round(count * PODS_PER_NODE) }, () => rng.pick(POD_SHAPES));
  return clusterOf('a synthetic GPU cluster', nodes, pods);
}

const PODS_PER_NODE = 8152 / 1213;
const NODE_SHAPES: readonly NodeRow[] = [
  { cpuMilli: 96_000, memoryMib: 393_216, gpus: 8, model: 'G2' },
  { cpuMilli: 96_000, memoryMib: 393_216, gpus: 8, model: 'G2' },
  { cpuMilli: 96_000, memoryMib: 393_216, gpus: 4, model: 'V100' },
  { cpuMilli: 104_000, memoryMib: 524_288, gpus: 2, model: 'T4' },
  { cpuMilli: 104_000, memoryMib: 524_288, gpus: 2, model: 'T4' },
  { cpuMilli: 16_000, memoryMib: 122_880, gpus: 2, model: 'P100' },
];
const POD_SHAPES: readonly PodRow[] = [
  { cpuMilli: 12_000, memoryMib: 16_384, gpus: 1, isTraining: false },
  { cpuMilli: 6000, memoryMib: 12_288, gpus: 1, isTraining: false },
  { cpuMilli: 4000, memoryMib: 8192, gpus: 0, isTraining: false },
  { cpuMilli: 8000, memoryMib: 30_720, gpus: 1, isTraining: true },
  { cpuMilli: 11_000, memoryMib: 49_152, gpus: 1, isTraining: true },
  { cpuMilli: 4000, memoryMib: 16_384, gpus: 0, isTraining: true },
];

/** Reads objects as the API gives them. */
export function readAll(objects: readonly object[]): readonly KubeObject[] {
  return objects.flatMap((each) => objectOf(each) ?? []);
}

/**
 * The cluster with its pods on nodes, as the scheduler would have placed them, as the objects of a
 * snapshot. Pods that found no room are left out.
 */
export function runningObjects({ nodes, pods, others }: GpuCluster): readonly object[] {
  const cluster = new Cluster(clusterInputOf(readAll([...nodes, ...others, ...pods]), RELEASE));
  const { after } = scheduleAll(cluster, cluster.waiting, { evicts: false });
  const running = pods.flatMap((pod) => {
    const { metadata, spec } = pod as { readonly metadata: { readonly namespace: string; readonly name: string }; readonly spec: object };
    const at = after.nodeOf(`${metadata.namespace}/${metadata.name}`);
    if (at === null) return [];
    const status = { phase: 'Running', startTime: '2026-11-19T08:00:00Z' };
    return [{ ...pod, spec: { ...spec, nodeName: at.node.name }, status }];
  });
  return [...nodes, ...others, ...running, SNAPSHOT];
}

/** So many of the same cluster side by side as one; only names differ. */
export function repeated(objects: readonly object[], times: number): readonly object[] {
  const isShared = (each: object): boolean => 'kind' in each && (each.kind === 'ClusterSnapshot' || each.kind === 'PriorityClass');
  const text = JSON.stringify(objects.filter((each) => !isShared(each)));
  const copy = (index: number): readonly object[] => JSON.parse(text.replaceAll(/"(node|train|serve)-/g, `"c${index}-$1-`)) as object[];
  return [...objects.filter(isShared), ...Array.from({ length: times }, (_, index) => copy(index)).flat()];
}

const SNAPSHOT = {
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'ClusterSnapshot',
  metadata: { name: 'bench', creationTimestamp: NOW },
  spec: { serverVersion: 'v1.35.8', notInstalled: [], leftOut: [] },
};

/** A service that needs two GPUs a pod, and is more important than training only. */
export const SERVICE = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'vision', namespace: 'ml' },
  spec: {
    replicas: 4,
    selector: { matchLabels: { app: 'vision' } },
    template: {
      metadata: { labels: { app: 'vision' } },
      spec: {
        priorityClassName: 'service',
        containers: [{ name: 'server', image: 'vision:1', resources: { requests: { cpu: '16', memory: '64Gi', 'nvidia.com/gpu': '2' } } }],
      },
    },
  },
} as const;

function clusterOf(origin: string, nodes: readonly NodeRow[], pods: readonly PodRow[]): GpuCluster {
  let training = 0;
  const jobs = new Map<string, object>();
  return {
    origin,
    nodes: nodes.map(nodeObject),
    pods: pods.map((row, index) => {
      if (!row.isTraining) return podObject(row, `serve-${index}`, null);
      const job = `train-${Math.floor(training / GANG)}`;
      jobs.set(job, jobObject(job, jobs.size));
      return podObject(row, `${job}-${training++ % GANG}`, job);
    }),
    others: [
      ...jobs.values(),
      priorityClass('training', TRAINING),
      priorityClass('inference', INFERENCE),
      priorityClass('service', SERVICE_PRIORITY),
    ],
  };
}

function nodeObject({ cpuMilli, memoryMib, gpus, model }: NodeRow, index: number): object {
  const name = `node-${index}`;
  const amounts = { cpu: `${cpuMilli}m`, memory: `${memoryMib}Mi`, pods: '110', 'nvidia.com/gpu': String(gpus) };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: name, labels: { 'kubernetes.io/hostname': name, 'nvidia.com/gpu.product': model } },
    spec: {},
    status: { allocatable: amounts, capacity: amounts, nodeInfo: { kubeletVersion: 'v1.35.8' } },
  };
}

function podObject({ cpuMilli, memoryMib, gpus, isTraining }: PodRow, name: string, job: string | null): object {
  const limits = gpus === 0 ? {} : { 'nvidia.com/gpu': String(gpus) };
  const requests = { cpu: `${cpuMilli}m`, memory: `${memoryMib}Mi`, ...limits };
  const owners = job === null ? [] : [{ apiVersion: 'batch/v1', kind: 'Job', name: job, uid: job, controller: true }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'ml', uid: name, labels: { app: job ?? 'serve' }, ownerReferences: owners },
    spec: {
      priority: isTraining ? TRAINING : INFERENCE,
      priorityClassName: isTraining ? 'training' : 'inference',
      containers: [{ name: 'main', image: 'main:1', resources: { requests, limits } }],
    },
    status: { phase: 'Pending' },
  };
}

function jobObject(name: string, number: number): object {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace: 'ml',
      uid: name,
      annotations: {
        'holdfast.dev/last-sealed': `2026-11-19T11:${10 + (number % 49)}:00Z`,
        'holdfast.dev/save-seconds': '20',
        'holdfast.dev/restart-seconds': '90',
        'holdfast.dev/save-every-seconds': '3600',
      },
    },
    spec: { completionMode: 'Indexed', completions: GANG, parallelism: GANG },
  };
}

function priorityClass(name: string, value: number): object {
  return { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value };
}
