import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import { imageScores } from './image-scores.ts';
import { neighbourScores } from './neighbour-scores.ts';
import { preferenceScores, tolerationScores } from './node-scores.ts';
import { balanceScores, roomScores } from './resource-scores.ts';
import type { Scorer } from './scorer.ts';
import { spreadScores } from './spread-scores.ts';

/** The scheduler’s default plugins and weights. */
const SCORERS: readonly { readonly plugin: string; readonly weight: number; readonly score: Scorer }[] = [
  { plugin: 'TaintToleration', weight: 3, score: tolerationScores },
  { plugin: 'NodeAffinity', weight: 2, score: preferenceScores },
  { plugin: 'NodeResourcesFit', weight: 1, score: roomScores },
  { plugin: 'PodTopologySpread', weight: 2, score: spreadScores },
  { plugin: 'InterPodAffinity', weight: 2, score: neighbourScores },
  { plugin: 'NodeResourcesBalancedAllocation', weight: 1, score: balanceScores },
  { plugin: 'ImageLocality', weight: 1, score: imageScores },
];

/** What the plugins give the nodes that passed the filters, in their order. */
export interface Scores {
  readonly totals: readonly number[];
  readonly byPlugin: ReadonlyMap<string, PluginScores>;
}

/** What one plugin gives the nodes, before its weight; null counts as 0 for all. */
export interface PluginScores {
  readonly weight: number;
  readonly scores: readonly number[] | null;
}

/** How nodes are scored. */
export interface ScoreOptions {
  /**
   * Images count for nothing. The scheduler scores so on the copy of its snapshot on which it tries
   * the preemption by a PodGroup: a copy of a copy has lost on how many nodes an image is.
   */
  readonly ignoresImages?: boolean;
}

/** Scores the nodes that passed the filters for a pod. */
export function scoreNodes(cluster: Cluster, pod: SchedulerPod, passed: readonly NodeState[], options: ScoreOptions = {}): Scores {
  const counted = cluster.counted(pod);
  const totals = passed.map(() => 0);
  const byPlugin = new Map<string, PluginScores>();
  for (const { plugin, weight, score } of SCORERS) {
    const scores = score === imageScores && options.ignoresImages === true ? null : score(counted, passed, cluster);
    byPlugin.set(plugin, { weight, scores });
    if (scores === null) continue;
    for (let index = 0; index < totals.length; index += 1) totals[index] = (totals[index] as number) + weight * (scores[index] as number);
  }
  return { totals, byPlugin };
}
