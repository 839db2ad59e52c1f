import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import { type PodTerm, isMeant } from '../objects/affinity.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import type { Labels } from '../objects/selector.ts';
import type { Filter, MakeFilter } from './filter.ts';
import { refusal } from './verdict.ts';

const PLUGIN = 'InterPodAffinity';
const NOT_NEAR = refusal('unresolvable', PLUGIN, "node(s) didn't match pod affinity rules");
const NOT_APART = refusal('unschedulable', PLUGIN, "node(s) didn't match pod anti-affinity rules");
const NOT_LET = refusal('unschedulable', PLUGIN, "node(s) didn't satisfy existing pods anti-affinity rules");

/** Whether the pods around are those that the pod must be near to and apart from, and let it in. */
export const neighboursFit: MakeFilter = ({ pod }, cluster): Filter | null => {
  const counts = new NeighbourCounts(pod, cluster);
  for (const { counted, at } of cluster.apart()) counts.countRefusers(counted.pod, at, 1);
  const { near, apart } = pod.affinity;
  // Where no pod has anything to say, pods that come later are not asked either.
  if (near.length + apart.length === 0) return counts.isLetEverywhere ? null : counts;
  for (const { counted, at } of cluster.places()) counts.countWanted(counted.pod, at, 1);
  return counts;
};

/** By domain: `zone=a` and the like. */
type ByDomain = Map<string, number>;

class NeighbourCounts implements Filter {
  readonly #pod: SchedulerPod;
  readonly #cluster: Cluster;
  readonly #ownNamespace: Labels;
  /** Terms of other pods against this one. */
  readonly #refusers: ByDomain = new Map();
  /** Pods that all terms are about. */
  readonly #near: ByDomain = new Map();
  readonly #apart: ByDomain = new Map();

  constructor(pod: SchedulerPod, cluster: Cluster) {
    this.#pod = pod;
    this.#cluster = cluster;
    this.#ownNamespace = cluster.labelsOfNamespace(pod.namespace);
  }

  get isLetEverywhere(): boolean {
    return this.#refusers.size === 0;
  }

  countRefusers(other: SchedulerPod, node: NodeState, sign: number): void {
    for (const term of other.affinity.apart) if (isMeant(term, this.#pod, this.#ownNamespace)) change(this.#refusers, node, term, sign);
  }

  countWanted(other: SchedulerPod, node: NodeState, sign: number): void {
    const { near, apart } = this.#pod.affinity;
    const namespace = this.#cluster.labelsOfNamespace(other.namespace);
    if (near.length > 0 && near.every((term) => isMeant(term, other, namespace)))
      for (const term of near) change(this.#near, node, term, sign);
    for (const term of apart) if (isMeant(term, other, namespace)) change(this.#apart, node, term, sign);
  }

  moved(other: SchedulerPod, node: NodeState, sign: 1 | -1): void {
    this.countRefusers(other, node, sign);
    this.countWanted(other, node, sign);
  }

  check({ node: { labels } }: NodeState) {
    if (!this.#isNear(labels)) return NOT_NEAR;
    if (this.#pod.affinity.apart.some(({ topologyKey }) => has(this.#apart, topologyKey, labels))) return NOT_APART;
    return this.#isLet(labels) ? null : NOT_LET;
  }

  #isNear(labels: Labels): boolean {
    const { near } = this.#pod.affinity;
    if (near.length === 0) return true;
    if (near.some(({ topologyKey }) => !labels.has(topologyKey))) return false;
    if (near.every(({ topologyKey }) => has(this.#near, topologyKey, labels))) return true;
    // The first of its kind may go anywhere that has such domains.
    return this.#near.size === 0 && near.every((term) => isMeant(term, this.#pod, this.#ownNamespace));
  }

  #isLet(labels: Labels): boolean {
    if (this.#refusers.size === 0) return true;
    for (const [key, value] of labels) if (this.#refusers.has(`${key}=${value}`)) return false;
    return true;
  }
}

function has(counts: ByDomain, key: string, labels: Labels): boolean {
  const value = labels.get(key);
  return value !== undefined && counts.has(`${key}=${value}`);
}

function change(counts: ByDomain, { node: { labels } }: NodeState, { topologyKey }: PodTerm, by: number): void {
  const value = labels.get(topologyKey);
  if (value === undefined) return;
  const domain = `${topologyKey}=${value}`;
  const after = (counts.get(domain) ?? 0) + by;
  if (after === 0) counts.delete(domain);
  else counts.set(domain, after);
}
