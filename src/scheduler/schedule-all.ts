import type { Cluster } from './cluster/cluster.ts';
import type { SchedulerPod } from './objects/pod.ts';
import { placeGroup } from './place/place-group.ts';
import { type Placement, placePod } from './place/place.ts';
import { whyGroupWaits } from './place/waits-for-group.ts';
import { failedPreemptionWords, failedSchedulingMessage } from './preempt/scheduling-message.ts';
import { preemptForGroup } from './preempt/preempt-group.ts';
import { type Preemption, preempt } from './preempt/preempt.ts';
import type { Candidate } from './preempt/victims.ts';

/** What happened to one pod of a list. */
export interface Step {
  readonly placement: Placement;
  /** Null when a node took the pod at once, or preemption was not asked for. */
  readonly preemption: Preemption | null;
  /** The one of `preemption.best` and `equals` that the rest of the list was played with. */
  readonly chosen: Candidate | null;
  /** The text of the pod’s FailedScheduling event; null if a node took it at once. */
  readonly message: string | null;
}

/** How a list of pods is played. */
export interface HowToSchedule {
  /** Whether pods may evict others. */
  readonly evicts: boolean;
  /** Takes one of so many equal choices, by its place; the first without it. */
  readonly pick?: (count: number) => number;
}

/** A list of pods, played to its end. */
export interface Schedule {
  /** In the order in which the scheduler takes the pods. */
  readonly steps: readonly Step[];
  /** The cluster right after: evicted pods are still ending, and hold their room. */
  readonly after: Cluster;
}

/**
 * Places pods one after another, the more important ones first, as the scheduler does when they
 * come at the same time. With ties it takes the first, or what `pick` says. Members of a PodGroup
 * of Kubernetes itself come together, in the place of the first one. A pod that evicts others
 * waits, with the promise of its node, while the victims are still there for the pods behind it.
 * The cluster that is passed does not change.
 */
export function scheduleAll(cluster: Cluster, pods: readonly SchedulerPod[], how: HowToSchedule): Schedule {
  const after = cluster.copy();
  const queue = queueOf(
    after,
    pods.toSorted((first, second) => second.priority - first.priority),
  );
  return {
    steps: queue.flatMap((entry) => ('group' in entry ? groupSteps(after, entry.group, how.evicts) : [step(after, entry.pod, how)])),
    after,
  };
}

type Entry = { readonly pod: SchedulerPod } | { readonly group: SchedulerPod[] };

function queueOf({ rules }: Cluster, pods: readonly SchedulerPod[]): readonly Entry[] {
  const groups = new Map<string, SchedulerPod[]>();
  return pods.flatMap((pod): readonly Entry[] => {
    if (!rules.canGroup || pod.group === null) return [{ pod }];
    const key = `${pod.namespace}/${pod.group}`;
    const known = groups.get(key);
    if (known !== undefined) {
      known.push(pod);
      return [];
    }
    const group = [pod];
    groups.set(key, group);
    return [{ group }];
  });
}

function step(cluster: Cluster, pod: SchedulerPod, { evicts, pick = () => 0 }: HowToSchedule): Step {
  const placement = placePod(cluster, pod);
  if (placement.node !== null) {
    const node = placement.tied[pick(placement.tied.length)] ?? placement.node;
    return bind(cluster, { ...placement, node }, node);
  }
  if (!evicts) return { placement, preemption: null, chosen: null, message: placement.message };
  const preemption = preempt(cluster, placement);
  const choices = [...preemption.best, ...(preemption.equals ?? [])];
  const chosen = choices.length === 0 ? null : (choices[pick(choices.length)] ?? null);
  if (chosen !== null) {
    for (const victim of chosen.victims) endSoon(cluster, victim);
    for (const other of preemption.unpromised.get(chosen.node) ?? []) cluster.unnominate(other.key);
    promise(cluster, pod, chosen.node);
  }
  const words = chosen === null ? failedPreemptionWords(cluster.rules, preemption.message) : preemption.message;
  return { placement, preemption, chosen, message: failedSchedulingMessage(placement, { message: words }) };
}

function groupSteps(cluster: Cluster, members: readonly SchedulerPod[], evicts: boolean): readonly Step[] {
  const wait = whyGroupWaits(cluster, members);
  const [first] = members;
  const group = first === undefined ? null : cluster.groupOf(first);
  if (wait !== null || group === null) return members.map((pod) => nowhere(pod, wait));
  const placed = placeGroup(cluster, group, members);
  const { placements, shortfall } = placed;
  if (shortfall === null)
    return placements.map((each) =>
      each.node === null ? { placement: each, preemption: null, chosen: null, message: each.message } : bind(cluster, each, each.node),
    );
  const preemption = evicts ? preemptForGroup(cluster, placed) : null;
  for (const victim of preemption?.victims ?? []) endSoon(cluster, victim);
  return members.map((pod, index) => {
    const own = placements[index] ?? null;
    // A member that alone would have a node gets none, because the group does not.
    const words = [shortfall, ...(preemption === null ? [] : [preemption.message])].join(', ');
    const refused = own?.node === null ? { placement: own, preemption: null, message: own.message } : nowhere(pod, words);
    const node = preemption?.nodes.get(pod.key) ?? null;
    if (preemption === null || node === null) return { ...refused, chosen: null };
    promise(cluster, pod, node);
    // The victims are those of all members together; the first one stands for them.
    const [victims, violations] = index === 0 ? [preemption.victims, preemption.violations] : [[], 0];
    return { ...refused, chosen: { node, victims, violations } };
  });
}

function bind(cluster: Cluster, placement: Placement, node: string): Step {
  cluster.unnominate(placement.pod.key);
  cluster.add(placement.pod, node);
  return { placement, preemption: null, chosen: null, message: null };
}

function promise(cluster: Cluster, pod: SchedulerPod, node: string): void {
  cluster.unnominate(pod.key);
  cluster.nominate(pod, node);
}

function nowhere(pod: SchedulerPod, message: string | null): Step {
  const placement = { pod, node: null, tied: [], feasible: 0, looksAt: null, refusals: [], message };
  return { placement, preemption: null, chosen: null, message };
}

/** The pod is told to end, and keeps its room until it has. */
function endSoon(cluster: Cluster, victim: SchedulerPod): void {
  const node = cluster.nodeOf(victim.key);
  if (node === null || victim.isTerminating) return;
  cluster.remove(victim.key);
  cluster.add({ ...victim, isTerminating: true, isPreempted: true }, node.node.name);
}
