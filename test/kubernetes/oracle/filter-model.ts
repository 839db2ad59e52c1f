import { RESOURCES, requestsOf } from './requests-model.ts';
import type { ClusterCase, Expression, NodeCase, PodCase, PodTerm, Spread, Taint, Toleration } from './scheduling.ts';

/** What a filter says of a node, and whether the removal of pods could change it. */
export interface FilterVerdict {
  readonly code: 'Success' | 'Unschedulable' | 'UnschedulableAndUnresolvable';
  readonly plugin: string;
}

export interface Placement {
  readonly nodes: readonly NodeCase[];
  readonly pods: readonly PodCase[];
}

type Filter = (pod: PodCase, node: NodeCase, placement: Placement) => FilterVerdict['code'];

/** In the scheduler's order: the first that objects is the one that is heard. */
const FILTERS: readonly (readonly [plugin: string, filter: Filter])[] = [
  ['NodeUnschedulable', (pod, node) => unresolvableUnless(!node.isCordoned || tolerates(pod.tolerations, CORDON))],
  ['TaintToleration', (pod, node) => unresolvableUnless(toleratesAll(pod, node))],
  ['NodeAffinity', (pod, node) => unresolvableUnless(isWanted(pod, node))],
  ['NodePorts', portsAreFree],
  ['NodeResourcesFit', resourcesFit],
  ['PodTopologySpread', isEvenlySpread],
  ['InterPodAffinity', neighboursFit],
];

const CORDON: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/**
 * What we believe the scheduler's filters say where nodes are promised to others: a pod must pass with those of them that are no less important than itself, as if they were there, and also
 * without them. `pods` are those that are left when some have to go.
 */
export function filteredBeside(pod: PodCase, node: NodeCase, cluster: ClusterCase, pods = cluster.pods): FilterVerdict {
  const { nodes } = cluster;
  const ahead = cluster.nominated.filter((each) => each.node === node.name && priorityOf(each) >= priorityOf(pod));
  const seen = looksAtNeighbours(pod, cluster) ? ahead : ahead.map((each) => ({ ...each, antiAffinity: [] }));
  const beside = filtered(pod, node, { nodes, pods: [...pods, ...seen] });
  return ahead.length === 0 || beside.code !== 'Success' ? beside : filtered(pod, node, { nodes, pods });
}

/** Whether neighbours are looked at in the first place: only for a pod with terms of its own, or where somebody who is there already has one against it. */
function looksAtNeighbours(pod: PodCase, cluster: ClusterCase): boolean {
  if (pod.affinity.length + pod.antiAffinity.length > 0) return true;
  return cluster.pods.some((other) =>
    other.antiAffinity.some((term) => term.app === pod.app && labelOf(cluster, other, term.topologyKey) !== undefined),
  );
}

export function priorityOf(pod: PodCase | undefined): number {
  return pod?.priority ?? 0;
}

function filtered(pod: PodCase, node: NodeCase, placement: Placement): FilterVerdict {
  for (const [plugin, filter] of FILTERS) {
    const code = filter(pod, node, placement);
    if (code !== 'Success') return { code, plugin };
  }
  return { code: 'Success', plugin: '' };
}

function unresolvableUnless(isFine: boolean): FilterVerdict['code'] {
  return isFine ? 'Success' : 'UnschedulableAndUnresolvable';
}

function toleratesAll({ tolerations }: PodCase, { taints }: NodeCase): boolean {
  return taints.every((taint) => taint.effect === 'PreferNoSchedule' || tolerates(tolerations, taint));
}

export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(({ key, operator = 'Equal', value = '', effect }) => {
    const isMeant = (key === undefined || key === taint.key) && (effect === undefined || effect === taint.effect);
    return isMeant && (operator === 'Exists' || value === (taint.value ?? ''));
  });
}

function isWanted({ nodeSelector, nodeTerms }: PodCase, { labels }: NodeCase): boolean {
  const isSelected = Object.entries(nodeSelector).every(([key, value]) => labels[key] === value);
  return isSelected && (nodeTerms === undefined || nodeTerms.some((term) => allHold(term, labels)));
}

export function allHold(term: readonly Expression[], labels: NodeCase['labels']): boolean {
  return term.every((expression) => holds(expression, labels[expression.key]));
}

function holds({ operator, values }: Expression, value: string | undefined): boolean {
  const [bound] = values;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(bound);
    case 'Lt':
      return value !== undefined && Number(value) < Number(bound);
  }
}

export function podsOn({ pods }: Pick<Placement, 'pods'>, node: NodeCase): readonly PodCase[] {
  return pods.filter((pod) => pod.node === node.name);
}

function portsAreFree(pod: PodCase, node: NodeCase, placement: Placement): FilterVerdict['code'] {
  const isTaken = pod.hostPort !== undefined && podsOn(placement, node).some(({ hostPort }) => hostPort === pod.hostPort);
  return isTaken ? 'Unschedulable' : 'Success';
}

/** More than the node has at all is hopeless, however many pods go. */
function resourcesFit(pod: PodCase, node: NodeCase, placement: Placement): FilterVerdict['code'] {
  const there = podsOn(placement, node);
  const wanted = requestsOf(pod);
  const lacking = RESOURCES.filter((name) => {
    const used = there.reduce((sum, each) => sum + requestsOf(each)[name], 0);
    return wanted[name] > 0 && wanted[name] > node.allocatable[name] - used;
  });
  if (lacking.some((name) => wanted[name] > node.allocatable[name])) return 'UnschedulableAndUnresolvable';
  return lacking.length > 0 || there.length + 1 > node.allocatable.pods ? 'Unschedulable' : 'Success';
}

/** Among the domains of nodes that have all the labels and count; the first constraint that objects is the one that is heard. */
function isEvenlySpread(pod: PodCase, node: NodeCase, { nodes, pods }: Placement): FilterVerdict['code'] {
  const labelled = nodes.filter((each) => hasDomains(each, pod.spread));
  for (const constraint of pod.spread) {
    const own = node.labels[constraint.topologyKey];
    if (own === undefined) return 'UnschedulableAndUnresolvable';
    const counts = domainCounts(constraint, { pods, nodes: labelled.filter((each) => countsForSpread(pod, each, constraint)) });
    const least = counts.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...counts.values());
    const skew = (counts.get(own) ?? 0) + (pod.app === constraint.app ? 1 : 0) - least;
    if (skew > constraint.maxSkew) return 'Unschedulable';
  }
  return 'Success';
}

export function hasDomains({ labels }: NodeCase, constraints: readonly Spread[]): boolean {
  return constraints.every(({ topologyKey }) => labels[topologyKey] !== undefined);
}

/** Unless the constraint says otherwise: where the pod could go by its own wishes, whatever taints there are. */
export function countsForSpread(
  pod: PodCase,
  node: NodeCase,
  { nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' }: Spread,
): boolean {
  return (nodeAffinityPolicy === 'Ignore' || isWanted(pod, node)) && (nodeTaintsPolicy === 'Ignore' || toleratesAll(pod, node));
}

function domainCounts({ app, topologyKey }: Spread, { nodes, pods }: Placement): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const domain = node.labels[topologyKey];
    if (domain === undefined) continue;
    const there = pods.filter((pod) => pod.node === node.name && pod.app === app).length;
    counts.set(domain, (counts.get(domain) ?? 0) + there);
  }
  return counts;
}

function neighboursFit(pod: PodCase, node: NodeCase, placement: Placement): FilterVerdict['code'] {
  if (!isNearAll(pod, node, placement)) return 'UnschedulableAndUnresolvable';
  const isApart = pod.antiAffinity.every((term) => !inDomain(placement, node, term.topologyKey).some(({ app }) => app === term.app));
  const isLet = placement.pods.every((other) =>
    other.antiAffinity.every((term) => term.app !== pod.app || !shares(placement, other, node, term)),
  );
  return isApart && isLet ? 'Success' : 'Unschedulable';
}

/** There must be pods that all terms are about, in the node's domain for each; the first of its kind may go anywhere that has such domains. */
function isNearAll(pod: PodCase, node: NodeCase, placement: Placement): boolean {
  const { affinity } = pod;
  const meets = (other: PodCase): boolean => affinity.every(({ app }) => other.app === app);
  if (affinity.some(({ topologyKey }) => node.labels[topologyKey] === undefined)) return false;
  if (affinity.every(({ topologyKey }) => inDomain(placement, node, topologyKey).some(meets))) return true;
  const isFirst = !placement.pods.some(
    (other) => meets(other) && affinity.some(({ topologyKey }) => labelOf(placement, other, topologyKey) !== undefined),
  );
  return isFirst && meets(pod);
}

function inDomain(placement: Placement, node: NodeCase, key: string): readonly PodCase[] {
  const domain = node.labels[key];
  return domain === undefined ? [] : placement.pods.filter((pod) => labelOf(placement, pod, key) === domain);
}

function labelOf({ nodes }: Placement, pod: PodCase, key: string): string | undefined {
  return nodes.find(({ name }) => name === pod.node)?.labels[key];
}

function shares(placement: Placement, other: PodCase, node: NodeCase, { topologyKey }: PodTerm): boolean {
  const domain = node.labels[topologyKey];
  return domain !== undefined && labelOf(placement, other, topologyKey) === domain;
}
