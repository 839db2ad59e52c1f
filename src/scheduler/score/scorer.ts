import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import type { CountedPod } from '../cluster/placed-pod.ts';

/** The best that one plugin gives a node, before its weight. */
export const BEST = 100;

/**
 * What one plugin gives each of the nodes that passed, in their order; null when it has nothing to
 * say, which counts as 0 for all.
 */
export type Scorer = (counted: CountedPod, passed: readonly NodeState[], cluster: Cluster) => readonly number[] | null;
