import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import { countsForSpread, hasDomains } from '../filter/spread.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { type Selector, selects } from '../objects/selector.ts';
import type { Spread } from '../objects/spread.ts';
import { siblingsOf } from '../objects/workload.ts';
import { BEST, type Scorer } from './scorer.ts';

const HOSTNAME = 'kubernetes.io/hostname';
const DEFAULTS = [
  { topologyKey: HOSTNAME, maxSkew: 3 },
  { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 5 },
] as const;

/** The wishes for a spread, and whether a node without all their domains is left out. */
interface Wishes {
  readonly spreads: readonly Spread[];
  readonly needsAll: boolean;
}

/**
 * By the number of pods that a node’s domains have already, which weighs more the more domains
 * there are: the fewer pods the better. A node that is left out has 0.
 */
export const spreadScores: Scorer = ({ pod }, passed, cluster) => {
  const { spreads, needsAll } = wishesOf(pod, cluster);
  if (spreads.length === 0) return null;
  const isIn = ({ node }: NodeState): boolean => !needsAll || hasDomains(node, spreads);
  const scored = passed.filter(isIn);
  const onNodes = spreads.map(({ selector }) => nodeCounts(pod, selector, cluster));
  // Of a node itself all pods count, whether or not the pod could want it.
  const counts = spreads.map((spread, index) => {
    if (spread.topologyKey === HOSTNAME) return null;
    const known = new Map(scored.map(({ node }) => [node.labels.get(spread.topologyKey) ?? '', 0]));
    for (const [state, there] of onNodes[index] ?? []) {
      const domain = state.node.labels.get(spread.topologyKey) ?? '';
      const before = known.get(domain);
      if (before !== undefined && isIn(state) && countsForSpread(pod, state.node, spread)) known.set(domain, before + there);
    }
    return known;
  });
  const sums = new Map(
    scored.map((state) => {
      let sum = 0;
      for (const [index, { topologyKey, maxSkew }] of spreads.entries()) {
        const domain = state.node.labels.get(topologyKey);
        if (domain === undefined) continue;
        const ofDomains = counts[index] ?? null;
        const there = (ofDomains === null ? onNodes[index]?.get(state) : ofDomains.get(domain)) ?? 0;
        sum += there * Math.log((ofDomains?.size ?? scored.length) + 2) + (maxSkew - 1);
      }
      return [state, Math.round(sum)] as const;
    }),
  );
  const [least, most] = [...sums.values()].reduce(([low, high], sum) => [Math.min(low, sum), Math.max(high, sum)], [Infinity, 0]);
  return passed.map((state) => {
    const sum = sums.get(state);
    if (sum === undefined) return 0;
    return most === 0 ? BEST : Math.trunc((BEST * (most + least - sum)) / most);
  });
};

/** The pod’s own, or the defaults of the scheduler for a pod that a Service or controller has. */
function wishesOf(pod: SchedulerPod, { workloads }: Cluster): Wishes {
  if (pod.spreads.length > 0) return { spreads: pod.spreads.filter(({ isRequired }) => !isRequired), needsAll: true };
  const selector = siblingsOf(pod, workloads);
  if (selector === null) return { spreads: [], needsAll: false };
  const rest = { selector, minDomains: 1, honorsAffinity: true, honorsTaints: false, isRequired: false } as const;
  return { spreads: DEFAULTS.map((each) => ({ ...each, ...rest })), needsAll: false };
}

/** How many pods a selector finds on each node. A selector without requirements finds none here. */
function nodeCounts({ namespace }: SchedulerPod, selector: Selector, cluster: Cluster): ReadonlyMap<NodeState, number> {
  const counts = new Map<NodeState, number>();
  if (selector === null || selector.length === 0) return counts;
  for (const { counted, at } of cluster.inNamespace(namespace)) {
    if (!counted.pod.isTerminating && selects(selector, counted.pod.labels)) counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  return counts;
}
