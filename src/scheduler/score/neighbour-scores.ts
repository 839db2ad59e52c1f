import type { NodeState } from '../cluster/node-state.ts';
import { type PodTerm, isMeant } from '../objects/affinity.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { BEST, type Scorer } from './scorer.ts';

/** What a pod that is there and must be near the new one counts for. */
const MUST_BE_NEAR = 1;

/**
 * By the preferences of the pod and of the pods around, for it and against it: the domains add up,
 * the worst node has 0, and the best 100.
 */
export const neighbourScores: Scorer = ({ pod }, passed, cluster) => {
  const worth = new Map<string, Map<string, number>>();
  const count = (term: PodTerm, meant: SchedulerPod, weight: number, { node: { labels } }: NodeState): void => {
    const value = labels.get(term.topologyKey);
    if (value === undefined || !isMeant(term, meant, cluster.labelsOfNamespace(meant.namespace))) return;
    const values = worth.get(term.topologyKey) ?? new Map<string, number>();
    worth.set(term.topologyKey, values.set(value, (values.get(value) ?? 0) + weight));
  };
  const { preferNear, preferApart } = pod.affinity;
  const hasOwn = preferNear.length + preferApart.length > 0;
  for (const { counted, at } of hasOwn ? cluster.places() : cluster.withTerms()) {
    const there = counted.pod;
    for (const { weight, what } of preferNear) count(what, there, weight, at);
    for (const { weight, what } of preferApart) count(what, there, -weight, at);
    for (const term of there.affinity.near) count(term, pod, MUST_BE_NEAR, at);
    for (const { weight, what } of there.affinity.preferNear) count(what, pod, weight, at);
    for (const { weight, what } of there.affinity.preferApart) count(what, pod, -weight, at);
  }
  return worth.size === 0 ? null : stretched(passed.map(({ node }) => sumOver(worth, node.labels)));
};

function sumOver(worth: ReadonlyMap<string, ReadonlyMap<string, number>>, labels: ReadonlyMap<string, string>): number {
  let sum = 0;
  for (const [key, values] of worth) sum += values.get(labels.get(key) ?? '') ?? 0;
  return sum;
}

function stretched(sums: readonly number[]): readonly number[] {
  const [least, most] = sums.reduce(([low, high], sum) => [Math.min(low, sum), Math.max(high, sum)], [Infinity, -Infinity]);
  return sums.map((sum) => (most === least ? 0 : Math.trunc(BEST * ((sum - least) / (most - least)))));
}
