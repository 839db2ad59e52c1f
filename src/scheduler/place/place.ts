import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import { PodFilters } from '../filter/filters.ts';
import type { Refusal } from '../filter/verdict.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { type ScoreOptions, scoreNodes } from '../score/scores.ts';
import { nowhereMessage } from './nowhere-message.ts';

/** Where a pod goes, or why it goes nowhere. */
export interface Placement {
  readonly pod: SchedulerPod;
  /** The node that takes it; null when none does. With ties, the first of `tied`. */
  readonly node: string | null;
  /** All nodes with the best score. The scheduler takes any of them. */
  readonly tied: readonly string[];
  /** How many nodes passed the filters. */
  readonly feasible: number;
  /**
   * So many nodes that pass are enough for the scheduler in a cluster of this size: it looks no
   * further, and may not see the best one. Null when it looks at all nodes.
   */
  readonly looksAt: number | null;
  /** In the order of the cluster’s nodes: why each does not take the pod, or null. */
  readonly refusals: readonly (Refusal | null)[];
  /** The words of the FailedScheduling event before those about preemption; null if it fits. */
  readonly message: string | null;
}

/** Runs the scheduler’s filters and scores for a pod that is on no node. Changes nothing. */
export function placePod(cluster: Cluster, pod: SchedulerPod, options: ScoreOptions = {}): Placement {
  const filters = new PodFilters(pod, cluster);
  const promised = pod.nominatedNode === null ? null : cluster.node(pod.nominatedNode);
  // The node that is promised to it comes before all others, if it still takes the pod.
  if (promised !== null && filters.check(promised) === null) {
    const refusals = cluster.nodes.map(() => null);
    return { pod, node: promised.node.name, tied: [promised.node.name], feasible: 1, looksAt: null, refusals, message: null };
  }
  const refusals = cluster.nodes.map((node) => filters.check(node));
  const passed = cluster.nodes.filter((_, index) => refusals[index] === null);
  const enough = nodesEnough(cluster.nodes.length);
  const looksAt = enough < passed.length ? enough : null;
  const message = passed.length === 0 ? nowhereMessage(refusals) : null;
  const tied = bestOf(cluster, pod, passed, options);
  return { pod, node: tied[0] ?? null, tied, feasible: passed.length, looksAt, refusals, message };
}

function bestOf(cluster: Cluster, pod: SchedulerPod, passed: readonly NodeState[], options: ScoreOptions): readonly string[] {
  if (passed.length <= 1) return passed.map(({ node }) => node.name);
  const { totals } = scoreNodes(cluster, pod, passed, options);
  const most = totals.reduce((found, total) => Math.max(found, total), 0);
  return passed.filter((_, index) => totals[index] === most).map(({ node }) => node.name);
}

const LOOKS_AT_ALL = 100;
const [LEAST_PERCENT, MOST_PERCENT, NODES_PER_PERCENT] = [5, 50, 125] as const;

/** How many nodes that pass are enough for the scheduler, by the size of the cluster. */
function nodesEnough(nodes: number): number {
  if (nodes < LOOKS_AT_ALL) return nodes;
  const percent = Math.max(LEAST_PERCENT, MOST_PERCENT - Math.floor(nodes / NODES_PER_PERCENT));
  return Math.max(LOOKS_AT_ALL, Math.floor((nodes * percent) / 100));
}
