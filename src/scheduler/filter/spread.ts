import type { NodeState } from '../cluster/node-state.ts';
import type { SchedulerNode } from '../objects/node.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { selects } from '../objects/selector.ts';
import type { Spread } from '../objects/spread.ts';
import { toleratesAll } from '../objects/toleration.ts';
import { DomainCounts } from './domain-counts.ts';
import type { MakeFilter } from './filter.ts';
import { wants } from './node-filters.ts';
import { refusal } from './verdict.ts';

const PLUGIN = 'PodTopologySpread';
const TOO_UNEVEN = refusal('unschedulable', PLUGIN, "node(s) didn't match pod topology spread constraints");
const NO_DOMAIN = refusal('unresolvable', PLUGIN, "node(s) didn't match pod topology spread constraints (missing required label)");

/**
 * Whether the domains of the node are not fuller than the pod allows, compared with the emptiest.
 */
export const isEvenlySpread: MakeFilter = ({ pod }, cluster) => {
  const constraints = pod.spreads.filter(({ isRequired }) => isRequired);
  if (constraints.length === 0) return null;
  const counts = constraints.map(() => new DomainCounts());
  for (const { node } of cluster.nodes) {
    for (const [index, constraint] of constraints.entries()) {
      if (isCounted(pod, node, constraint, constraints)) counts[index]?.change(node.labels.get(constraint.topologyKey) as string, 0);
    }
  }
  const moved = (other: SchedulerPod, { node }: NodeState, sign: 1 | -1): void => {
    if (other.namespace !== pod.namespace) return;
    for (const [index, constraint] of constraints.entries()) {
      if (selects(constraint.selector, other.labels) && isCounted(pod, node, constraint, constraints))
        counts[index]?.change(node.labels.get(constraint.topologyKey) as string, sign);
    }
  };
  for (const { counted, at } of cluster.inNamespace(pod.namespace)) {
    if (!counted.pod.isTerminating) moved(counted.pod, at, 1);
  }
  return {
    moved,
    check: ({ node }) => {
      for (const [index, { topologyKey, selector, minDomains, maxSkew }] of constraints.entries()) {
        const domain = node.labels.get(topologyKey);
        if (domain === undefined) return NO_DOMAIN;
        const own = counts[index] as DomainCounts;
        const least = own.domains < minDomains ? 0 : own.least;
        if (own.of(domain) + (selects(selector, pod.labels) ? 1 : 0) - least > maxSkew) return TOO_UNEVEN;
      }
      return null;
    },
  };
};

function isCounted(pod: SchedulerPod, node: SchedulerNode, constraint: Spread, all: readonly Spread[]): boolean {
  return hasDomains(node, all) && countsForSpread(pod, node, constraint);
}

/** Whether the node has a domain for each of the constraints. */
export function hasDomains({ labels }: SchedulerNode, constraints: readonly Spread[]): boolean {
  return constraints.every(({ topologyKey }) => labels.has(topologyKey));
}

/** Whether the pods of a node count; by default those of nodes that the pod could want. */
export function countsForSpread(pod: SchedulerPod, node: SchedulerNode, { honorsAffinity, honorsTaints }: Spread): boolean {
  return (!honorsAffinity || wants(pod, node)) && (!honorsTaints || toleratesAll(pod.tolerations, node.taints));
}
