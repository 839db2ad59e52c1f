import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import type { PodFilters } from '../filter/filters.ts';
import { type Refusal, refusal } from '../filter/verdict.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { violations } from './budget-violations.ts';
import { ordersOfEquals } from './orders-of-equals.ts';
import { type Unit, byImportance, podsOf, unitsBelow } from './preemption-unit.ts';

/** What it would cost to make room on a node. */
export interface Candidate {
  readonly node: string;
  /** The most important first. With PodGroups that go together, also pods on other nodes. */
  readonly victims: readonly SchedulerPod[];
  /** How many victims go against a PodDisruptionBudget. */
  readonly violations: number;
}

const NOBODY: Refusal = refusal('unresolvable', 'DefaultPreemption', 'No preemption victims found for incoming pod');

/** Where the victims are looked for. */
interface Search {
  readonly node: NodeState;
  readonly filters: PodFilters;
  readonly cluster: Cluster;
}

/**
 * The victims on one node: takes off all pods of lower priority, and puts back those that leave
 * room, first those that a budget protects, each list from the most important one. The cluster is
 * as before when it returns. A refusal says why it would not help.
 */
export function victimsOn(node: NodeState, pod: SchedulerPod, filters: PodFilters, cluster: Cluster): Candidate | Refusal {
  const lower = unitsBelow(pod.priority, node, cluster);
  return lower.length === 0 ? NOBODY : victimsInOrder({ node, filters, cluster }, lower.toSorted(byImportance));
}

/**
 * Every set of victims on one node that the scheduler may take; the first is that of `victimsOn`.
 * Pods of one priority that started in the same second are equally important, and the order in
 * which the scheduler looks at them cannot be seen.
 */
export function victimSetsOn(node: NodeState, pod: SchedulerPod, filters: PodFilters, cluster: Cluster): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const ordered of ordersOfEquals(unitsBelow(pod.priority, node, cluster).toSorted(byImportance))) {
    const candidate = victimsInOrder({ node, filters, cluster }, ordered);
    if ('node' in candidate && !found.has(keysOf(candidate))) found.set(keysOf(candidate), candidate);
  }
  return [...found.values()];
}

function keysOf({ victims }: Candidate): string {
  return victims
    .map(({ key }) => key)
    .toSorted()
    .join(' ');
}

function victimsInOrder({ node, filters, cluster }: Search, ordered: readonly Unit[]): Candidate | Refusal {
  const takeOff = (unit: Unit): void => unit.members.forEach(({ counted, at }) => filters.takeOff(counted, at));
  const putBack = (unit: Unit): void => unit.members.forEach(({ counted, at }) => filters.putBack(counted, at));
  for (const unit of ordered) takeOff(unit);
  const hopeless = filters.check(node);
  if (hopeless !== null) {
    for (const unit of ordered) putBack(unit);
    return hopeless;
  }
  const violating = violations(ordered, cluster);
  const victims: Unit[] = [];
  for (const unit of [...ordered.filter((each) => violating.has(each)), ...ordered.filter((each) => !violating.has(each))]) {
    putBack(unit);
    if (filters.check(node) === null) continue;
    takeOff(unit);
    victims.push(unit);
  }
  for (const unit of victims) putBack(unit);
  return {
    node: node.node.name,
    victims: podsOf(victims.toSorted(byImportance)),
    violations: victims.reduce((sum, unit) => sum + (violating.get(unit) ?? 0), 0),
  };
}
