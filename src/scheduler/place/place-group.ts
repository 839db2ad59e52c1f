import type { Cluster } from '../cluster/cluster.ts';
import type { SchedulerPod } from '../objects/pod.ts';
import type { PodGroup } from '../objects/pod-group.ts';
import type { ScoreOptions } from '../score/scores.ts';
import { type Placement, placePod } from './place.ts';

/** Where the members of a PodGroup go when the scheduler places them together. */
export interface GroupPlacement {
  readonly group: PodGroup;
  readonly members: readonly SchedulerPod[];
  /**
   * In the order of the members. It ends early where the group can no longer have enough members.
   */
  readonly placements: readonly Placement[];
  /** In the scheduler’s words: why too few members have a node; null when enough of them do. */
  readonly shortfall: string | null;
}

/**
 * Places members of a PodGroup one by one, each beside those before it. Members that are on nodes
 * already count. Changes nothing.
 */
export function placeGroup(
  cluster: Cluster,
  group: PodGroup,
  members: readonly SchedulerPod[],
  options: ScoreOptions = {},
): GroupPlacement {
  const placements: Placement[] = [];
  // A group without a minimum starts with any of its pods.
  const least = group.minCount ?? 1;
  let [scheduled, remaining] = [[...cluster.members(group.key)].length, members.length];
  for (const pod of members) {
    if (scheduled + remaining < least) break;
    const placement = placePod(cluster, pod, options);
    placements.push(placement);
    remaining -= 1;
    if (placement.node === null) continue;
    cluster.add(pod, placement.node);
    scheduled += 1;
  }
  for (const { pod, node } of placements) if (node !== null) cluster.remove(pod.key);
  const words = `minCount (${least}) cannot be satisfied: ${scheduled} scheduled, ${remaining} remaining`;
  return { group, members, placements, shortfall: scheduled < least ? words : null };
}
