import { at, numberAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import { type Budget, budgetOf } from './budget.ts';
import { type SchedulerNode, schedulerNodeOf } from './node.ts';
import { type PodDefaults, type SchedulerPod, schedulerPodOf } from './pod.ts';
import { type PodGroup, podGroupOf } from './pod-group.ts';
import type { Release } from './release.ts';
import type { Labels } from './selector.ts';
import { type Workload, workloadOf } from './workload.ts';

/** A cluster as the scheduler sees it. */
export interface ClusterInput {
  readonly release: Release;
  readonly nodes: readonly SchedulerNode[];
  /** Bound, nominated and waiting pods, and also those that are over. */
  readonly pods: readonly SchedulerPod[];
  readonly budgets: readonly Budget[];
  readonly groups: readonly PodGroup[];
  readonly workloads: readonly Workload[];
  /** The labels of each namespace. */
  readonly namespaces: ReadonlyMap<string, Labels>;
}

/** Reads the objects of a cluster; kinds that the scheduler does not read are left out. */
export function clusterInputOf(objects: readonly KubeObject[], release: Release): ClusterInput {
  const defaults = podDefaultsOf(objects);
  const ofKind = (kind: string): readonly KubeObject[] => objects.filter((object) => object.kind === kind);
  return {
    release,
    nodes: ofKind('Node').map(schedulerNodeOf),
    pods: ofKind('Pod').map((object) => schedulerPodOf(object, defaults)),
    budgets: ofKind('PodDisruptionBudget').map(budgetOf),
    groups: ofKind('PodGroup').flatMap((object) => podGroupOf(object, defaults) ?? []),
    workloads: objects.flatMap((object) => workloadOf(object) ?? []),
    namespaces: new Map(ofKind('Namespace').map(({ name, labels }) => [name, labels])),
  };
}

/** What the priority classes of a cluster decide about a pod that was not applied yet. */
export function podDefaultsOf(objects: readonly KubeObject[], namespace = 'default'): PodDefaults {
  const classes = objects.filter(({ kind }) => kind === 'PriorityClass');
  const read = ({ fields }: KubeObject) => ({
    value: numberAt(fields, 'value') ?? 0,
    neverPreempts: at(fields, 'preemptionPolicy') === 'Never',
  });
  const byName = new Map<string, { readonly value: number; readonly neverPreempts: boolean }>([
    ...SYSTEM_CLASSES,
    ...classes.map((each) => [each.name, read(each)] as const),
  ]);
  const global = classes.find(({ fields }) => at(fields, 'globalDefault') === true);
  const byDefault = global === undefined ? NO_CLASS : read(global);
  return { namespace, priorityOfClass: (name) => (name === null ? byDefault : (byName.get(name) ?? NO_CLASS)) };
}

const NO_CLASS = { value: 0, neverPreempts: false } as const;
/** The classes that every cluster has. */
export const SYSTEM_CLASSES = [
  ['system-cluster-critical', { value: 2_000_000_000, neverPreempts: false }],
  ['system-node-critical', { value: 2_000_001_000, neverPreempts: false }],
] as const;
