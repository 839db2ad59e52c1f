import type { Alternative, Asked } from './alternative.ts';
import { fewerDemands } from './fewer-demands.ts';
import { fewerReplicas } from './fewer-replicas.ts';
import { makeRoom, neverEvict } from './make-room.ts';
import { otherNode } from './other-node.ts';
import { otherVictim } from './other-victim.ts';
import { waitForSave } from './wait-for-save.ts';

const WAYS = [fewerDemands, fewerReplicas, otherNode, otherVictim, makeRoom, waitForSave, neverEvict] as const;

/**
 * What loses less than what the scheduler would do, the least first. Of two that lose the same, the
 * one that has the pods running at once comes first. Only what `apply` would evict needs one.
 */
export function alternativesTo(asked: Asked): readonly Alternative[] {
  const { main } = asked;
  if (main.victims.length === 0 && main.nowhere.length === 0) return [];
  const ways = main.victims.length === 0 ? [fewerDemands, otherVictim] : WAYS;
  return ways
    .flatMap((way) => way(asked))
    .filter(({ cost, stops }) => main.nowhere.length > 0 || cost.worst < main.cost.worst || stops.length < main.stopped.length)
    .toSorted((a, b) => a.cost.worst - b.cost.worst || Number(b.isAtOnce) - Number(a.isAtOnce));
}
