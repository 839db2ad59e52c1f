import type { Cluster } from '../../scheduler/cluster/cluster.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';
import { placePod } from '../../scheduler/place/place.ts';
import { type Step, scheduleAll } from '../../scheduler/schedule-all.ts';
import type { Gang } from '../gangs/gang.ts';
import { type Cost, costOf } from '../loss/cost.ts';
import { gangsOf } from '../world/gangs-of.ts';
import type { World } from '../world/world.ts';

/** What the scheduler does with a list of pods, played to its end. */
export interface Play {
  readonly steps: readonly Step[];
  /** The node of each pod that gets one, by the pod’s key. */
  readonly nodes: ReadonlyMap<string, string>;
  readonly nowhere: readonly SchedulerPod[];
  /** Each evicted pod once, in the order of the evictions. */
  readonly victims: readonly SchedulerPod[];
  /** How many of the victims go against a budget. */
  readonly violations: number;
  /** The gangs that lose a pod, each once. */
  readonly stopped: readonly Gang[];
  readonly cost: Cost;
  /** The cluster when the victims are gone and the pods have their nodes. */
  readonly after: Cluster;
}

/** Plays pods against a cluster, which stays as it is. Of equal choices it takes the first. */
export function play(world: World, cluster: Cluster, pods: readonly SchedulerPod[]): Play {
  const { steps, after } = scheduleAll(cluster, pods, { evicts: true });
  const victims = new Map<string, SchedulerPod>();
  let violations = 0;
  for (const { chosen } of steps) {
    if (chosen === null) continue;
    for (const victim of chosen.victims) if (!victim.isTerminating) victims.set(victim.key, victim);
    violations += chosen.violations;
  }
  for (const { chosen } of steps) for (const { key } of chosen?.victims ?? []) if (after.nodeOf(key) !== null) after.remove(key);
  const { nodes, nowhere } = settle(after, steps);
  const stopped = gangsOf(world, [...victims.keys()]);
  return { steps, nodes, nowhere, victims: [...victims.values()], violations, stopped, cost: costOf(world, stopped), after };
}

/** Binds the pods that waited for their victims: the promised node first, then any other. */
function settle(after: Cluster, steps: readonly Step[]): Pick<Play, 'nodes' | 'nowhere'> {
  const nodes = new Map<string, string>();
  const nowhere: SchedulerPod[] = [];
  for (const { placement } of steps) if (placement.node !== null) nodes.set(placement.pod.key, placement.node);
  for (const { placement, chosen } of steps) {
    if (placement.node !== null) continue;
    const pod = { ...placement.pod, nominatedNode: chosen?.node ?? null };
    const { node } = placePod(after, pod);
    after.unnominate(pod.key);
    if (node === null) nowhere.push(placement.pod);
    else {
      after.add(pod, node);
      nodes.set(pod.key, node);
    }
  }
  return { nodes, nowhere };
}
