import type { Cluster } from '../../scheduler/cluster/cluster.ts';
import type { NodeState } from '../../scheduler/cluster/node-state.ts';
import { PodFilters } from '../../scheduler/filter/filters.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';
import { placePod } from '../../scheduler/place/place.ts';
import { covers } from '../../scheduler/preempt/budget-violations.ts';

/** A gang that may leave, and what its leaving loses. */
export interface Leaver {
  /** The key of its TrainingRun: `ml/train-1a2b3`. */
  readonly run: string;
  /** `PyTorchJob ml/train`. */
  readonly title: string;
  /** The highest priority of its pods. */
  readonly priority: number;
  /** `namespace/name` of each pod that is on a node. */
  readonly pods: readonly string[];
  /** What it can give up instead of leaving whole; null: nothing. */
  readonly spare: Spare | null;
  /** What is lost although it saves first, in seconds of one accelerator. */
  readonly cost: number;
}

/** What an elastic gang can give up. */
export interface Spare {
  /** `namespace/name` of each pod that may leave alone, in the order in which they are given up. */
  readonly pods: readonly string[];
  /** So many of them; the rest is the least that the gang trains with. */
  readonly count: number;
}

/** A gang that leaves, or gives up a part. */
export interface Leaving<L extends Leaver = Leaver> {
  readonly leaver: L;
  readonly isWhole: boolean;
  /** `namespace/name` of each pod that leaves. */
  readonly pods: readonly string[];
}

/** What is to be done for a pod that asks for room. */
export type RoomChoice<L extends Leaver = Leaver> =
  | { readonly kind: 'fits' }
  | { readonly kind: 'chosen'; readonly node: string; readonly leaving: readonly Leaving<L>[] }
  | { readonly kind: 'none'; readonly reason: string };

/** Of more gangs on one node, the cheapest are tried: all their sets are 256. */
const MOST_ON_NODE = 8;

/**
 * Chooses the gangs whose leaving gives the pod a node and loses least. A gang leaves whole, with
 * the pods that it has on other nodes; an elastic gang that can spare pods on the node gives up
 * only as many as are needed. Of two sets that lose the same, the one with fewer pods leaves.
 * `busy` are nodes on which room is being made for another pod.
 */
export function chooseRoom<L extends Leaver>(
  cluster: Cluster,
  pod: SchedulerPod,
  leavers: readonly L[],
  busy: ReadonlySet<string>,
): RoomChoice<L> {
  if (placePod(cluster, pod).node !== null) return { kind: 'fits' };
  const lower = leavers.filter(({ priority }) => priority < pod.priority);
  const protectedBy = budgetsAgainst(cluster);
  const filters = new PodFilters(pod, cluster);
  let best: LeavingSet<L> | null = null;
  let isHeld = false;
  for (const { node, cheapest } of cheapestByNode(lower, cluster)) {
    if (busy.has(node.node.name)) continue;
    for (const set of setsOf(cheapest.map((leaver) => waysOf(leaver, cluster, node)))) {
      if (best !== null && costOf(set) > costOf(best.leaving)) break;
      if (!fitsWithout(cluster, filters, node, set)) continue;
      const leaving = smallest(set, (less) => fitsWithout(cluster, filters, node, less));
      const isAllowed = protectedBy(leaving) === null;
      isHeld ||= !isAllowed;
      if (isAllowed && (best === null || isLess(leaving, best.leaving))) best = { node: node.node.name, leaving };
    }
  }
  if (best !== null) return { kind: 'chosen', ...best };
  return { kind: 'none', reason: reasonWhyNone(leavers, lower, isHeld) };
}

/** The nodes on which gangs have a pod, in the cluster’s order, with the cheapest of them. */
function cheapestByNode<L extends Leaver>(
  leavers: readonly L[],
  cluster: Cluster,
): readonly { readonly node: NodeState; readonly cheapest: readonly L[] }[] {
  const found = new Map<NodeState, L[]>();
  for (const leaver of leavers) {
    for (const node of new Set(leaver.pods.flatMap((key) => cluster.nodeOf(key) ?? []))) {
      const here = found.get(node);
      if (here === undefined) found.set(node, [leaver]);
      else here.push(leaver);
    }
  }
  return cluster.nodes.flatMap((node) => {
    const here = found.get(node);
    return here === undefined ? [] : [{ node, cheapest: here.toSorted(byCost).slice(0, MOST_ON_NODE) }];
  });
}

interface LeavingSet<L extends Leaver> {
  readonly node: string;
  readonly leaving: readonly Leaving<L>[];
}

/** The ways in which a gang frees something of a node: what it can spare there, or all of it. */
function waysOf<L extends Leaver>(leaver: L, cluster: Cluster, node: NodeState): readonly Leaving<L>[] {
  const here = leaver.spare?.pods.filter((key) => cluster.nodeOf(key) === node).slice(0, leaver.spare.count) ?? [];
  const whole: Leaving<L> = { leaver, isWhole: true, pods: leaver.pods };
  return here.length === 0 ? [whole] : [{ leaver, isWhole: false, pods: here }, whole];
}

/** The same gangs, each of which gives up as little as is enough. */
function smallest<L extends Leaver>(set: readonly Leaving<L>[], isEnough: (less: readonly Leaving<L>[]) => boolean): readonly Leaving<L>[] {
  let found = set;
  for (const [at, { isWhole, pods }] of set.entries()) {
    if (isWhole) continue;
    const lessOf = (count: number): readonly Leaving<L>[] =>
      found.map((each, index) => (index === at ? { leaver: each.leaver, isWhole, pods: pods.slice(0, count) } : each));
    const count = pods.findIndex((_, index) => isEnough(lessOf(index + 1)));
    if (count >= 0) found = lessOf(count + 1);
  }
  return found;
}

function reasonWhyNone(leavers: readonly Leaver[], lower: readonly Leaver[], isHeld: boolean): string {
  if (leavers.length === 0) return 'no supervised gang runs that may leave now';
  if (lower.length === 0) return 'no gang that may leave has a lower priority';
  return isHeld ? 'a PodDisruptionBudget keeps every set of gangs whose leaving would help' : 'no set of gangs frees enough on one node';
}

/** Every set of some of these gangs, each in one of its ways; the set that loses least first. */
function setsOf<L extends Leaver>(gangs: readonly (readonly Leaving<L>[])[]): readonly (readonly Leaving<L>[])[] {
  const sets = gangs.reduce<readonly (readonly Leaving<L>[])[]>(
    (found, ways) => found.flatMap((set) => [set, ...ways.map((way) => [...set, way])]),
    [[]],
  );
  return sets.filter(({ length }) => length > 0).toSorted((one, other) => (isLess(one, other) ? -1 : isLess(other, one) ? 1 : 0));
}

function isLess(one: readonly Leaving[], other: readonly Leaving[]): boolean {
  const [first, second] = [costOf(one), costOf(other)];
  return first === second ? sum(one, ({ pods }) => pods.length) < sum(other, ({ pods }) => pods.length) : first < second;
}

function costOf(set: readonly Leaving[]): number {
  return sum(set, ({ leaver }) => leaver.cost);
}

function byCost(one: Leaver, other: Leaver): number {
  return one.cost - other.cost || one.pods.length - other.pods.length;
}

function sum(gangs: readonly Leaving[], of: (gang: Leaving) => number): number {
  return gangs.reduce((total, gang) => total + of(gang), 0);
}

/** The cluster is as before when it returns. */
function fitsWithout(cluster: Cluster, filters: PodFilters, node: NodeState, gangs: readonly Leaving[]): boolean {
  const gone = gangs.flatMap(({ pods }) =>
    pods.flatMap((key) => {
      const [pod, at] = [cluster.pod(key), cluster.nodeOf(key)];
      return pod === null || at === null ? [] : [{ counted: cluster.counted(pod), at }];
    }),
  );
  for (const { counted, at } of gone) filters.takeOff(counted, at);
  const fits = filters.check(node) === null;
  for (const { counted, at } of gone) filters.putBack(counted, at);
  return fits;
}

/**
 * The budget that does not allow all pods of a set of gangs to leave, or null. The API server
 * refuses to evict a pod of two budgets, whatever they allow.
 */
function budgetsAgainst(cluster: Cluster): (gangs: readonly Leaving[]) => string | null {
  const budgets = cluster.budgets.filter(({ selector }) => selector !== null);
  return (gangs) => {
    const pods = gangs.flatMap((gang) => gang.pods.flatMap((key) => cluster.pod(key) ?? []));
    const twice = pods.find((pod) => budgets.filter((budget) => covers(budget, pod)).length > 1);
    if (twice !== undefined) return twice.key;
    const broken = budgets.find((budget) => pods.filter((pod) => covers(budget, pod)).length > budget.allowed);
    return broken === undefined ? null : `${broken.namespace}/${broken.name}`;
  };
}
