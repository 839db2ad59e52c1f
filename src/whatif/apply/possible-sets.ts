import { type Step, scheduleAll } from '../../scheduler/schedule-all.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';
import type { Cluster } from '../../scheduler/cluster/cluster.ts';
import { type Cost, costOf } from '../loss/cost.ts';
import { gangsOf } from '../world/gangs-of.ts';
import type { Note } from '../world/note.ts';
import type { World } from '../world/world.ts';
import type { Play } from './play.ts';

/** One of several victim sets, of which the scheduler takes any. */
export interface PossibleSet {
  readonly pod: string;
  readonly node: string;
  readonly victims: readonly string[];
  readonly cost: Cost;
  readonly violations: number;
}

/** Every set of victims that a pod may take. */
export interface PossibleSets {
  /** In the order of the pods, the cheapest set of each first; none for a pod with one set. */
  readonly possible: readonly PossibleSet[];
  /** The scheduler looks at a random part of the nodes where an eviction would help. */
  readonly isSampled: boolean;
  readonly notes: readonly Note[];
}

/** Each choice among equals doubles the ways at least; of more ways, the first are played. */
const MOST_PLAYS = 16;
/** In a larger cluster only the first way is played. */
const MOST_NODES = 100;

/**
 * Collects every set of victims that the scheduler may take for a pod. A choice among equals for
 * one pod changes what the pods behind it find, so each way through the choices is played.
 */
export function possibleSets(world: World, cluster: Cluster, pods: readonly SchedulerPod[], { steps }: Play): PossibleSets {
  const isSampled = steps.some(({ preemption }) => preemption !== null && preemption.possible.length > preemption.best.length);
  const ways = playWays(cluster, pods, steps);
  const found = new Map<string, Map<string, PossibleSet>>();
  for (const { placement, preemption } of ways.plays.flat()) {
    const sets = found.get(placement.pod.key) ?? new Map<string, PossibleSet>();
    found.set(placement.pod.key, sets);
    for (const { node, victims, violations } of preemption === null ? [] : [...preemption.possible, ...(preemption.equals ?? [])]) {
      const keys = victims.flatMap(({ key, isTerminating }) => (isTerminating ? [] : [key]));
      const name = [node, ...keys.toSorted()].join(' ');
      if (!sets.has(name))
        sets.set(name, { pod: placement.pod.name, node, victims: keys, cost: costOf(world, gangsOf(world, keys)), violations });
    }
  }
  const possible = [...found.values()].flatMap((sets) =>
    sets.size < 2 ? [] : [...sets.values()].toSorted((a, b) => a.cost.worst - b.cost.worst),
  );
  const evicts = ways.plays.flat().some(({ chosen }) => chosen !== null);
  return { possible, isSampled, notes: ways.isWhole || !evicts ? [] : [NOT_ALL] };
}

const NOT_ALL: Note = {
  kind: 'assumed',
  text: 'the scheduler meets more equal choices than were played: a pod may find another node, or evict other pods, than the sets say',
};

interface Ways {
  readonly plays: readonly (readonly Step[])[];
  readonly isWhole: boolean;
}

/** Plays the other choices of each way, from the last choice that was given. */
function playWays(cluster: Cluster, pods: readonly SchedulerPod[], first: readonly Step[]): Ways {
  // The choice of the last pod, or of the only one, changes nothing for another.
  const isWhole = !first.slice(0, -1).some(hasEquals) && first.every(({ preemption }) => preemption?.equals !== null);
  if (isWhole || cluster.nodes.length > MOST_NODES) return { plays: [first], isWhole };
  const plays: (readonly Step[])[] = [];
  // The ways that are known, each with the choices that lead to it; those behind are the first.
  const ways: (readonly number[])[] = [[]];
  for (const given of ways) {
    if (plays.length === MOST_PLAYS) return { plays, isWhole: false };
    const taken: { readonly choice: number; readonly count: number }[] = [];
    const pick = (count: number): number => {
      const choice = given[taken.length] ?? 0;
      taken.push({ choice, count });
      return choice;
    };
    plays.push(scheduleAll(cluster, pods, { evicts: true, pick }).steps);
    for (const [index, { count }] of taken.entries()) {
      if (index < given.length) continue;
      const before = taken.slice(0, index).map(({ choice }) => choice);
      // One more than can be played is enough to know that there are more.
      for (let other = 1; other < count && ways.length <= MOST_PLAYS; other++) ways.push([...before, other]);
    }
  }
  return { plays, isWhole: true };
}

function hasEquals({ placement, preemption }: Step): boolean {
  return placement.tied.length > 1 || (preemption !== null && preemption.best.length + (preemption.equals?.length ?? 0) > 1);
}
