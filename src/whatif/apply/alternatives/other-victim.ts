import type { Cluster } from '../../../scheduler/cluster/cluster.ts';
import { PodFilters } from '../../../scheduler/filter/filters.ts';
import type { SchedulerPod } from '../../../scheduler/objects/pod.ts';
import { type Gang, podKey } from '../../gangs/gang.ts';
import { costOf } from '../../loss/cost.ts';
import { play } from '../play.ts';
import { type Alternative, type Asked, playedCost } from './alternative.ts';

const MOST_OFFERED = 3;
/** Gangs that are tried, the cheapest first. */
const MOST_TRIED = 200;
const MOST_PLAYED = 6;

/** Takes away a cheaper gang or pod before the scheduler evicts a dearer one. */
export function otherVictim({ world, cluster, pods, main }: Asked): readonly Alternative[] {
  const lead = main.steps.find(({ placement }) => placement.node === null)?.placement.pod;
  if (lead === undefined) return [];
  const work = cluster.copy();
  const stopped = new Set(main.stopped);
  const cheaper = world.gangs.all
    .filter((gang) => !stopped.has(gang) && isLess(gang, lead, work))
    .map((gang) => ({ gang, cost: costOf(world, [gang]) }))
    .filter(({ cost }) => main.nowhere.length > 0 || cost.worst < main.cost.worst)
    .toSorted((a, b) => a.cost.worst - b.cost.worst)
    .slice(0, MOST_TRIED);
  const found: Alternative[] = [];
  let played = 0;
  for (const { gang, cost } of cheaper) {
    if (found.length >= MOST_OFFERED || played >= MOST_PLAYED) break;
    const command = endCommand(gang);
    if (command === null) continue;
    const freed = takeOff(gang, work);
    const isEnough = makesRoom(lead, freed, work);
    if (isEnough) {
      played += 1;
      const result = play(world, work, pods);
      if (result.victims.length === 0 && result.nowhere.length === 0) {
        found.push({
          kind: 'other-victim',
          title: `end ${gang.title} first`,
          change: [command],
          ...playedCost(result),
          cost,
          stops: [gang.title],
        });
      }
    }
    for (const { pod, node } of freed) work.add(pod, node);
  }
  return found;
}

type Freed = readonly { readonly pod: SchedulerPod; readonly node: string }[];

function isLess({ pods }: Gang, { priority }: SchedulerPod, cluster: Cluster): boolean {
  const placed = pods.flatMap((pod) => cluster.pod(podKey(pod)) ?? []);
  return placed.length > 0 && placed.every((pod) => pod.priority < priority);
}

function takeOff({ pods }: Gang, cluster: Cluster): Freed {
  return pods.flatMap((object) => {
    const [pod, node] = [cluster.pod(podKey(object)), cluster.nodeOf(podKey(object))];
    if (pod === null || node === null) return [];
    cluster.remove(pod.key);
    return [{ pod, node: node.node.name }];
  });
}

function makesRoom(lead: SchedulerPod, freed: Freed, cluster: Cluster): boolean {
  const filters = new PodFilters(lead, cluster);
  return [...new Set(freed.map(({ node }) => node))].some((name) => {
    const node = cluster.node(name);
    return node !== null && filters.check(node) === null;
  });
}

/**
 * How a person ends a gang so that it does not come back by itself; null if no one command does.
 */
function endCommand({ kind, name, namespace, pods, controller }: Gang): string | null {
  switch (kind) {
    case 'PyTorchJob':
    case 'TFJob':
      return `kubectl patch ${kind.toLowerCase()} ${name} -n ${namespace} --type=merge -p '{"spec":{"runPolicy":{"suspend":true}}}'`;
    case 'Job':
    case 'JobSet':
    case 'RayJob':
      return `kubectl patch ${kind.toLowerCase()} ${name} -n ${namespace} --type=merge -p '{"spec":{"suspend":true}}'`;
    case 'LeaderWorkerSet':
      return `kubectl scale leaderworkerset ${name} -n ${namespace} --replicas=0`;
    case 'PodGroup':
    case 'Pod':
      return controller !== null ? null : `kubectl delete pod -n ${namespace} ${pods.map((pod) => pod.name).join(' ')}`;
  }
}
