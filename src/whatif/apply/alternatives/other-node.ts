import type { SchedulerPod } from '../../../scheduler/objects/pod.ts';
import { placePod } from '../../../scheduler/place/place.ts';
import { preempt } from '../../../scheduler/preempt/preempt.ts';
import type { Candidate } from '../../../scheduler/preempt/victims.ts';
import { costOf } from '../../loss/cost.ts';
import { gangsOf } from '../../world/gangs-of.ts';
import type { World } from '../../world/world.ts';
import { play } from '../play.ts';
import { type Alternative, type Asked, playedCost } from './alternative.ts';

const HOSTNAME = 'kubernetes.io/hostname';

/**
 * Binds the pods to the nodes whose victims lose least. The scheduler ranks nodes by priority, and
 * for a PodGroup it does not compare victims at all.
 */
export function otherNode(asked: Asked): readonly Alternative[] {
  const { world, cluster, pods, main, template } = asked;
  const names = new Set(nodesForMembers(asked));
  for (const { placement, preemption } of main.steps) {
    if (placement.node !== null) names.add(placement.node);
    const cheapest = cheapestOf(world, preemption?.candidates ?? []);
    if (cheapest !== null) names.add(cheapest.node);
  }
  const hosts = [...names].map((name) => cluster.node(name)?.node.labels.get(HOSTNAME));
  if (hosts.length === 0 || hosts.includes(undefined)) return [];
  const wanted = hosts.filter((host) => host !== undefined);
  const played = play(
    world,
    cluster,
    pods.map((pod) => boundTo(pod, wanted)),
  );
  if (played.nowhere.length > 0) return [];
  const title = wanted.length === 1 ? `bind it to ${wanted[0]}` : `bind the pods to ${wanted.length} nodes`;
  return [{ kind: 'other-node', title, change: affinityLines(wanted, template), ...playedCost(played) }];
}

/** For members of a PodGroup that evicts: each where its own victims lose least. */
function nodesForMembers({ world, cluster, main }: Asked): readonly string[] {
  const members = main.steps.flatMap(({ placement: { pod }, preemption, chosen }) => (chosen !== null && preemption === null ? [pod] : []));
  if (members.length === 0) return [];
  const work = cluster.copy();
  return members.flatMap((pod) => {
    const placement = placePod(work, pod);
    const cheapest =
      placement.node === null ? cheapestOf(world, preempt(work, placement).candidates) : { node: placement.node, victims: [] };
    if (cheapest === null) return [];
    for (const { key } of cheapest.victims) work.remove(key);
    work.add(pod, cheapest.node);
    return [cheapest.node];
  });
}

/** The candidate whose victims lose least. */
function cheapestOf(world: World, candidates: readonly Candidate[]): Pick<Candidate, 'node' | 'victims'> | null {
  const costs = candidates.map((candidate) => {
    const gangs = gangsOf(
      world,
      candidate.victims.flatMap(({ key, isTerminating }) => (isTerminating ? [] : [key])),
    );
    return { candidate, worst: costOf(world, gangs).worst };
  });
  const [cheapest] = costs.toSorted((a, b) => a.worst - b.worst || a.candidate.victims.length - b.candidate.victims.length);
  return cheapest?.candidate ?? null;
}

function boundTo(pod: SchedulerPod, hosts: readonly string[]): SchedulerPod {
  const host = { key: HOSTNAME, operator: 'In', values: hosts };
  const terms = pod.affinity.nodeTerms ?? [{ labels: [], fields: [] }];
  return { ...pod, affinity: { ...pod.affinity, nodeTerms: terms.map((term) => ({ ...term, labels: [...term.labels, host] })) } };
}

function affinityLines(hosts: readonly string[], template: string): readonly string[] {
  if (hosts.length === 1) return [`${template}spec.nodeSelector: {"${HOSTNAME}": "${hosts[0]}"}`];
  return [
    `${template}spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:`,
    `  - matchExpressions: [{key: ${HOSTNAME}, operator: In, values: [${hosts.join(', ')}]}]`,
  ];
}
