import type { Cluster } from '../cluster/cluster.ts';
import type { SchedulerPod } from '../objects/pod.ts';

/**
 * In the scheduler’s words: why it does not try members of a PodGroup at all; null when it does.
 * They wait until the PodGroup is there and so many members exist, those that run included.
 */
export function whyGroupWaits(cluster: Cluster, members: readonly SchedulerPod[]): string | null {
  const [first] = members;
  if (first === undefined) return null;
  const group = cluster.groupOf(first);
  if (group === null) return `waiting for pods's pod group "${first.group}" to appear in scheduling queue`;
  const keys = new Set(members.map(({ key }) => key));
  const others = cluster.waiting.filter((pod) => !keys.has(pod.key) && cluster.groupOf(pod) === group && cluster.nodeOf(pod.key) === null);
  const known = members.length + others.length + [...cluster.members(group.key)].length;
  if (known < (group.minCount ?? 1)) return 'waiting for minCount pods from a gang to appear in scheduling queue';
  const odd = members.find(({ priority }) => priority !== group.priority);
  if (odd === undefined) return null;
  return `all pods in a single pod group should have the same priority as the pod group's priority, got ${odd.priority} and ${group.priority}`;
}
