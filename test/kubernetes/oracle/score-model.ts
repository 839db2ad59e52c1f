import { allHold, podsOn, tolerates } from './filter-model.ts';
import { neighbourScores, spreadScores } from './neighbour-score-model.ts';
import { requestsOf } from './requests-model.ts';
import { type ClusterCase, MIB, type NodeCase, type PodCase, type Resources } from './scheduling.ts';

/** A number for each of the nodes that passed the filters, in their order, as good as it gets being 100. */
export type Scores = readonly number[];
type Scorer = (cluster: ClusterCase, passed: readonly NodeCase[]) => Scores;

/** What a container counts for that asks for nothing: a tenth of a processor and 200 MiB. */
const ASSUMED = { cpu: 100, memory: 200 } as const;
const BEST = 100;
/** An image that is smaller is worth nothing; per container, one that is larger is worth no more. */
const [LEAST_IMAGE, LARGEST_IMAGE] = [23 * MIB, 1000 * MIB] as const;

const SCORERS: Readonly<Record<string, { readonly weight: number; readonly score: Scorer }>> = {
  TaintToleration: { weight: 3, score: unlikedScores },
  NodeAffinity: { weight: 2, score: wishScores },
  NodeResourcesFit: { weight: 1, score: ({ pod, pods }, passed) => passed.map((node) => roomScore(pod, node, pods)) },
  PodTopologySpread: { weight: 2, score: spreadScores },
  InterPodAffinity: { weight: 2, score: neighbourScores },
  NodeResourcesBalancedAllocation: { weight: 1, score: ({ pod, pods }, passed) => passed.map((node) => balanceScore(pod, node, pods)) },
  ImageLocality: { weight: 1, score: ({ pod, nodes }, passed) => passed.map((node) => imageScore(pod, node, nodes)) },
};

/** What we believe every plugin gives to the nodes that passed, weighted, and their total. */
export function scoresOf(cluster: ClusterCase, passed: readonly NodeCase[]): Readonly<Record<string, Readonly<Record<string, number>>>> {
  const columns = Object.entries(SCORERS).map(
    ([plugin, { weight, score }]) => [plugin, score(cluster, passed).map((each) => each * weight)] as const,
  );
  return Object.fromEntries(
    passed.map(({ name }, index) => {
      const row = columns.map(([plugin, scores]) => [plugin, scores[index] ?? 0] as const);
      return [name, { ...Object.fromEntries(row), total: row.reduce((sum, [, score]) => sum + score, 0) }];
    }),
  );
}

/** Taints that are only unliked: the more of them, the worse, by the share of the most. */
function unlikedScores({ pod }: ClusterCase, passed: readonly NodeCase[]): Scores {
  const counts = passed.map(
    ({ taints }) => taints.filter((taint) => taint.effect === 'PreferNoSchedule' && !tolerates(pod.tolerations, taint)).length,
  );
  return sharesOf(counts).map((share) => BEST - share);
}

/** The weights of the wishes that come true, by the share of the most. */
function wishScores({ pod }: ClusterCase, passed: readonly NodeCase[]): Scores {
  return sharesOf(
    passed.map(({ labels }) => pod.nodeWishes.reduce((sum, { weight, what }) => sum + (allHold(what, labels) ? weight : 0), 0)),
  );
}

function sharesOf(counts: readonly number[]): readonly number[] {
  const most = Math.max(0, ...counts);
  return counts.map((count) => (most === 0 ? 0 : Math.floor((BEST * count) / most)));
}

/** The mean of what is left of processors and memory, each in whole percent. */
function roomScore(pod: PodCase, node: NodeCase, pods: readonly PodCase[]): number {
  const there = [...podsOn({ pods }, node), pod];
  const left = (['cpu', 'memory'] as const).map((name) => {
    const capacity = node.allocatable[name];
    const taken = there.reduce((sum, each) => sum + requestsOf(each, assumed)[name], 0);
    return taken > capacity ? 0 : Math.floor(((capacity - taken) * BEST) / capacity);
  });
  return Math.floor(left.reduce((sum, each) => sum + each, 0) / left.length);
}

function assumed(amounts: Resources): Resources {
  return { ...amounts, cpu: amounts.cpu || ASSUMED.cpu, memory: amounts.memory || ASSUMED.memory };
}

/** How near the shares of processors and memory that are taken are to each other; what asks for nothing counts for nothing here, and a pod that asks for neither has no such score. */
function balanceScore(pod: PodCase, node: NodeCase, pods: readonly PodCase[]): number {
  const wanted = requestsOf(pod);
  if (wanted.cpu === 0 && wanted.memory === 0) return 0;
  const [cpu, memory] = (['cpu', 'memory'] as const).map((name) => {
    const taken = podsOn({ pods }, node).reduce((sum, each) => sum + requestsOf(each)[name], wanted[name]);
    return Math.min(1, taken / node.allocatable[name]);
  }) as [number, number];
  return Math.trunc((1 - Math.abs((cpu - memory) / 2)) * BEST);
}

/** The images that are there, by size, each scaled by the share of nodes that have it: one that few have is worth less. */
function imageScore(pod: PodCase, node: NodeCase, nodes: readonly NodeCase[]): number {
  const images = [pod.image, ...pod.init.map(({ image }) => image)].map(tagged);
  const sum = images.reduce((bytes, image) => {
    const share = nodes.filter((each) => each.images.has(image)).length / nodes.length;
    return bytes + Math.trunc((node.images.get(image) ?? 0) * MIB * share);
  }, 0);
  const most = LARGEST_IMAGE * images.length;
  return Math.trunc((BEST * (Math.min(Math.max(sum, LEAST_IMAGE), most) - LEAST_IMAGE)) / (most - LEAST_IMAGE));
}

/** As nodes tell of it. */
function tagged(image: string): string {
  return image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
}
