import { countsForSpread, hasDomains, podsOn } from './filter-model.ts';
import { type ClusterCase, HOSTNAME, type NodeCase, type PodCase, type PodTerm, type Spread } from './scheduling.ts';

const BEST = 100;
/** What a pod that is already there and must be near the new one counts for. */
const MUST_BE_NEAR = 1;

/** By the wishes of the pod and of all who are there, for it and against it: the domains add up, and the worst node has 0, the best 100. */
export function neighbourScores({ pod, nodes, pods }: ClusterCase, passed: readonly NodeCase[]): readonly number[] {
  const worth = new Map<string, number>();
  const count = (term: PodTerm, isMeant: PodCase, weight: number, node: NodeCase): void => {
    const value = node.labels[term.topologyKey];
    if (value === undefined || isMeant.app !== term.app) return;
    const domain = domainOf(term, node);
    worth.set(domain, (worth.get(domain) ?? 0) + weight);
  };
  for (const node of nodes) {
    for (const there of podsOn({ pods }, node)) {
      for (const { weight, what } of pod.nearWishes) count(what, there, weight, node);
      for (const { weight, what } of pod.apartWishes) count(what, there, -weight, node);
      for (const term of there.affinity) count(term, pod, MUST_BE_NEAR, node);
      for (const { weight, what } of there.nearWishes) count(what, pod, weight, node);
      for (const { weight, what } of there.apartWishes) count(what, pod, -weight, node);
    }
  }
  const sums = passed.map((node) =>
    Object.keys(node.labels).reduce((sum, topologyKey) => sum + (worth.get(domainOf({ topologyKey }, node)) ?? 0), 0),
  );
  const [least, most] = [Math.min(...sums), Math.max(...sums)];
  return sums.map((sum) => (most === least ? 0 : Math.trunc(BEST * ((sum - least) / (most - least)))));
}

function domainOf({ topologyKey }: Pick<PodTerm, 'topologyKey'>, node: NodeCase): string {
  return `${topologyKey}=${node.labels[topologyKey]}`;
}

/**
 * By how many of those it wants to be spread among are in a node's domains already, where the count weighs the more the more domains there are: the fewer the better. Whoever lacks one of the
 * labels has 0.
 */
export function spreadScores({ pod, nodes, pods }: ClusterCase, passed: readonly NodeCase[]): readonly number[] {
  const { spreadWishes } = pod;
  if (spreadWishes.length === 0) return passed.map(() => 0);
  const hasAll = (node: NodeCase): boolean => hasDomains(node, spreadWishes);
  const scored = passed.filter(hasAll);
  const countOn = (node: NodeCase, { app }: Spread): number => podsOn({ pods }, node).filter((each) => each.app === app).length;
  const sumOf = (node: NodeCase): number =>
    spreadWishes.reduce((sum, wish) => {
      const domains = new Set(scored.map((each) => domainOf(wish, each)));
      // Of a node itself all pods count, whether or not the pod could want it.
      const isOwn = wish.topologyKey === HOSTNAME;
      const domain = isOwn
        ? [node]
        : nodes.filter((each) => hasAll(each) && countsForSpread(pod, each, wish) && domainOf(wish, each) === domainOf(wish, node));
      const there = domain.reduce((all, each) => all + countOn(each, wish), 0);
      return sum + there * Math.log((isOwn ? scored.length : domains.size) + 2) + wish.maxSkew - 1;
    }, 0);
  const sums = new Map(scored.map((node) => [node, Math.round(sumOf(node))]));
  const [least, most] = [Math.min(...sums.values()), Math.max(...sums.values())];
  return passed.map((node) => {
    const sum = sums.get(node);
    if (sum === undefined) return 0;
    return most === 0 ? BEST : Math.trunc((BEST * (most + least - sum)) / most);
  });
}
