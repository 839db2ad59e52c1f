import type { Cluster } from '../cluster/cluster.ts';
import { PodFilters } from '../filter/filters.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { type GroupPlacement, placeGroup } from '../place/place-group.ts';
import { violations } from './budget-violations.ts';
import { type Unit, byImportance, podsOf, unitsBelow, victimPriority } from './preemption-unit.ts';

/** What the scheduler’s preemption would do for a PodGroup that finds no room. */
export interface GroupPreemption {
  /** The node of each member that gets one, by the pod’s key; empty when nothing would help. */
  readonly nodes: ReadonlyMap<string, string>;
  /** The most important first. */
  readonly victims: readonly SchedulerPod[];
  readonly violations: number;
  /** The scheduler’s words after those about the group. */
  readonly message: string;
}

/**
 * Works out which pods the scheduler would evict for a PodGroup. It takes off everything less
 * important in the whole cluster, places the group on what is left, and then puts back what leaves
 * room on the nodes that it chose. It does not look for the nodes with the fewest victims. Changes
 * nothing.
 */
export function preemptForGroup(cluster: Cluster, { group, members }: GroupPlacement): GroupPreemption {
  if (members.some(({ neverPreempts }) => neverPreempts)) return nothing('not eligible due to preemptionPolicy=Never.');
  const promised = nodesPromised(cluster, members, group.priority);
  if (promised !== null) return { ...nothing('ongoing preemption on nominated nodes'), nodes: promised };
  const lower = unitsOfCluster(cluster, group.priority);
  if (lower.length === 0) return nothing('No preemption victims found for incoming preemptor');
  for (const pod of podsOf(lower)) cluster.remove(pod.key);
  const alone = placeGroup(cluster, group, members, { ignoresImages: true });
  const found = alone.shortfall === null ? spare(cluster, alone, lower) : nothing(alone.shortfall);
  for (const { members: pods } of lower) for (const { counted, at } of pods) cluster.add(counted.pod, at.node.name);
  return found;
}

function nothing(message: string): GroupPreemption {
  return { nodes: new Map(), victims: [], violations: 0, message };
}

/** The nodes that were promised to members, while a pod that was evicted for them still ends. */
function nodesPromised(cluster: Cluster, members: readonly SchedulerPod[], priority: number): ReadonlyMap<string, string> | null {
  const nodes = new Map(members.flatMap(({ key, nominatedNode }) => (nominatedNode === null ? [] : [[key, nominatedNode] as const])));
  const isWaitedFor = [...nodes.values()].some((name) =>
    cluster.node(name)?.pods.some(({ pod }) => pod.isPreempted && victimPriority(pod, cluster) < priority),
  );
  return isWaitedFor ? nodes : null;
}

function unitsOfCluster(cluster: Cluster, priority: number): readonly Unit[] {
  const found = new Map<string, Unit>();
  for (const node of cluster.nodes)
    for (const unit of unitsBelow(priority, node, cluster)) found.set(unit.members[0]?.counted.pod.key ?? '', unit);
  return [...found.values()];
}

/** Puts units back while every member that is placed still passes the filters of its own node. */
function spare(cluster: Cluster, { placements }: GroupPlacement, lower: readonly Unit[]): GroupPreemption {
  const placed = placements.flatMap(({ pod, node }) => {
    const at = node === null ? null : cluster.node(node);
    if (at === null) return [];
    // Each member knows those before it, and not those after it.
    const member = { counted: cluster.counted(pod), at, filters: new PodFilters(pod, cluster) };
    cluster.add(pod, at.node.name);
    return [member];
  });
  for (const { counted } of placed) cluster.remove(counted.pod.key);
  const move = (unit: Unit, sign: 1 | -1): void => {
    for (const { counted, at } of unit.members) {
      if (sign === 1) at.add(counted);
      else at.remove(counted);
      for (const { filters } of placed) filters.moved(counted, at, sign);
    }
  };
  const fits = (): boolean => {
    const failed = placed.findIndex(({ counted, at, filters }) => {
      if (filters.check(at) !== null) return true;
      at.add(counted);
      return false;
    });
    for (const { counted, at } of failed < 0 ? placed : placed.slice(0, failed)) at.remove(counted);
    return failed < 0;
  };
  const ordered = lower.toSorted(byImportance);
  const violating = violations(ordered, cluster);
  const victims: Unit[] = [];
  const spared: Unit[] = [];
  for (const unit of [...ordered.filter((each) => violating.has(each)), ...ordered.filter((each) => !violating.has(each))]) {
    move(unit, 1);
    if (fits()) spared.push(unit);
    else {
      move(unit, -1);
      victims.push(unit);
    }
  }
  for (const unit of spared) move(unit, -1);
  const pods = podsOf(victims.toSorted(byImportance));
  return {
    nodes: new Map(placed.map(({ counted, at }) => [counted.pod.key, at.node.name])),
    victims: pods,
    violations: victims.reduce((sum, unit) => sum + (violating.get(unit) ?? 0), 0),
    message: `found a placement for podgroup, preempting ${pods.length} victims`,
  };
}
