import type { Cluster } from '../cluster/cluster.ts';
import type { NodeState } from '../cluster/node-state.ts';
import type { CountedPod } from '../cluster/placed-pod.ts';
import type { SchedulerPod } from '../objects/pod.ts';

/** What a preemption takes at once: a pod, or all members of a PodGroup that goes together. */
export interface Unit {
  readonly members: readonly { readonly counted: CountedPod; readonly at: NodeState }[];
  /** Of the pod’s PodGroup, where PodGroups count, else its own. */
  readonly priority: number;
  /** A member of any PodGroup outranks a plain pod of the same priority. */
  readonly isOfGroup: boolean;
  /** When its first pod started; a pod that has not started counts as starting now. */
  readonly startMs: number;
}

const NOW = Number.POSITIVE_INFINITY;

/** The units below a priority that have a pod on a node. */
export function unitsBelow(priority: number, node: NodeState, cluster: Cluster): Unit[] {
  const found: Unit[] = [];
  const together = new Set<string>();
  for (const counted of node.pods) {
    const group = cluster.groupOf(counted.pod);
    if ((group?.priority ?? counted.pod.priority) >= priority) continue;
    if (group?.goesTogether !== true) found.push(unitOf([{ counted, at: node }], cluster));
    else if (!together.has(group.key)) {
      together.add(group.key);
      found.push(unitOf([...cluster.members(group.key)], cluster));
    }
  }
  return found;
}

/** The priority of a pod as a victim. */
export function victimPriority(pod: SchedulerPod, cluster: Cluster): number {
  return cluster.groupOf(pod)?.priority ?? pod.priority;
}

/** Below 0 when the first is more important: it is spared before the second. */
export function byImportance(first: Unit, second: Unit): number {
  if (first.priority !== second.priority) return second.priority - first.priority;
  if (first.isOfGroup !== second.isOfGroup) return first.isOfGroup ? -1 : 1;
  if (first.members.length !== second.members.length) return second.members.length - first.members.length;
  return first.startMs === second.startMs ? 0 : first.startMs - second.startMs;
}

/** The pods of units, in their order. */
export function podsOf(units: readonly Unit[]): readonly SchedulerPod[] {
  return units.flatMap(({ members }) => members.map(({ counted }) => counted.pod));
}

function unitOf(members: Unit['members'], cluster: Cluster): Unit {
  const [first] = members;
  const pod = first?.counted.pod as SchedulerPod;
  let startMs = NOW;
  for (const { counted } of members) startMs = Math.min(startMs, counted.pod.startMs ?? NOW);
  return { members, priority: victimPriority(pod, cluster), isOfGroup: cluster.rules.canGroup && pod.group !== null, startMs };
}
