import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import type { CountedPod } from '../cluster/placed-pod.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import type { Refusal } from './verdict.ts';

/** One plugin’s filter for one pod. */
export interface Filter {
  /** Null when the node passes. */
  check(node: NodeState): Refusal | null;
  /** Called before the next check when a pod came to a node (`sign` 1) or left it (-1). */
  moved?(other: SchedulerPod, node: NodeState, sign: 1 | -1): void;
}

/** Makes the filter for a pod; null when the plugin has nothing to say about it. */
export type MakeFilter = (counted: CountedPod, cluster: Cluster) => Filter | null;
