import type { KubeObject } from '../../kube/objects/object.ts';
import type { Cluster } from '../../scheduler/cluster/cluster.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';
import { type Step, scheduleAll } from '../../scheduler/schedule-all.ts';
import { type Reaction, reactionOf } from '../gangs/aftermath.ts';
import { type Gang, podKey } from '../gangs/gang.ts';
import type { LostWork } from '../gangs/lost-work.ts';
import type { World } from '../world/world.ts';

/** A gang that loses pods: what that costs, and what becomes of it. */
export interface StoppedGang {
  readonly gang: Gang;
  /** The pods that leave, by key. Its other pods stop training, and keep their room. */
  readonly leaving: readonly string[];
  readonly loss: LostWork;
  readonly fate: Fate;
  readonly reaction: Reaction;
  /** The node of each pod that comes again, as far as there is room. */
  readonly returns: readonly { readonly pod: string; readonly node: string | null }[];
  /** Pods that the returning ones would evict in turn. */
  readonly evictsInTurn: readonly string[];
}

/** `restarts`: there is room for what comes again. `waits`: there is not. */
export type Fate = 'restarts' | 'waits' | 'ends' | 'unknown';

/**
 * What becomes of gangs that lose pods. `after` is the cluster without these pods; it stays as it
 * is. Pods that come again are placed together, the more important ones first.
 */
export function stoppedGangs(world: World, leaving: readonly SchedulerPod[], after: Cluster): readonly StoppedGang[] {
  const objects = new Map<string, KubeObject>();
  const byGang = new Map<Gang, SchedulerPod[]>();
  for (const pod of leaving) {
    const gang = world.gangs.of(pod.key);
    if (gang === null) continue;
    const known = byGang.get(gang);
    if (known === undefined) byGang.set(gang, [pod]);
    else known.push(pod);
    for (const object of gang.pods) objects.set(podKey(object), object);
  }
  const reactions = [...byGang].map(([gang, pods]) => ({
    gang,
    pods,
    reaction: reactionOf(
      gang,
      pods.flatMap(({ key }) => objects.get(key) ?? []),
      world.losses.isSupervised(gang),
    ),
  }));
  const returning = reactions.flatMap(({ pods, reaction }) => (reaction.does === 'ends' ? [] : pods.map(comeAgain)));
  const steps = new Map(scheduleAll(after, returning, { evicts: true }).steps.map((step) => [step.placement.pod.key, step]));
  return reactions.map(({ gang, pods, reaction }) => {
    const own = reaction.does === 'ends' ? [] : pods.flatMap((pod) => steps.get(againKey(pod.key)) ?? []);
    return { gang, leaving: pods.map(({ key }) => key), loss: world.losses.of(gang), reaction, ...returnOf(own, reaction) };
  });
}

function returnOf(steps: readonly Step[], { does }: Reaction): Pick<StoppedGang, 'fate' | 'returns' | 'evictsInTurn'> {
  const returns = steps.map(({ placement, chosen }) => ({ pod: placement.pod.name, node: placement.node ?? chosen?.node ?? null }));
  const evictsInTurn = [...new Set(steps.flatMap(({ chosen }) => chosen?.victims.map(({ key }) => key) ?? []))];
  if (does !== 'recreates') return { fate: does, returns, evictsInTurn };
  return { fate: returns.every(({ node }) => node !== null) ? 'restarts' : 'waits', returns, evictsInTurn };
}

/**
 * The pod as its controller creates it again; it has another key while the old one is remembered.
 */
function comeAgain(pod: SchedulerPod): SchedulerPod {
  return { ...pod, key: againKey(pod.key), nodeName: null, nominatedNode: null, startMs: null, isTerminating: false, isPreempted: false };
}

function againKey(key: string): string {
  return `${key} (again)`;
}
