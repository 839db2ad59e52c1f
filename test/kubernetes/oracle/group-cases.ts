import type { Rng } from '../../../src/core/rng.ts';
import { maybe, several } from './check.ts';
import type { ClusterCase, GroupCase, PodCase } from './scheduling.ts';
import { someCluster, somePod, TIERS } from './scheduling-cases.ts';

/** A cluster with PodGroups. A pod comes alone, or members of a group come together. */
export interface GroupedCase {
  readonly cluster: ClusterCase;
  readonly groups: readonly GroupCase[];
  /** None: the pod of the cluster comes alone. */
  readonly members: readonly PodCase[];
}

const COMING = 'coming';

/** A small, rather full cluster, half of whose pods belong to PodGroups. */
export function someGroupedCluster(rng: Rng): GroupedCase {
  const cluster = someCluster(rng);
  const coming = someGroup(rng, COMING, [5, 50, 1000, 1000, 1000]);
  const others = several(rng.integer(1, 3), (index) => someGroup(rng, `group-${index}`, [0, 10, 10, 10]));
  const isEasy = rng.next() < 0.7;
  const pods = cluster.pods.map((pod) => {
    const group = rng.next() < 0.1 ? coming : rng.next() < 0.6 ? rng.pick(others) : undefined;
    // Many of the same priority, so that something else decides.
    const placed = { ...pod, namespace: 'default', ...(isEasy ? { priority: 10, antiAffinity: [] } : {}) };
    return group === undefined ? placed : memberOf(group, placed);
  });
  const isGang = rng.next() < 0.5;
  const easy = (pod: PodCase): PodCase => (isEasy ? withoutDemands(pod) : pod);
  const members = several(isGang ? rng.integer(1, 4) : 0, (index) => memberOf(coming, easy(somePod(rng, `${COMING}-${index}`))));
  const budgets = several(rng.integer(0, 2), (index) => ({
    name: `budget-${index}`,
    namespace: 'default',
    // Not two for a pod: its place in its group would decide which of them counts, and it has none.
    selects: { tier: TIERS[index] ?? '' },
    allowed: rng.integer(0, 2),
    disrupted: [],
  }));
  return { cluster: { ...cluster, pods, budgets, pod: easy(cluster.pod) }, groups: [coming, ...others], members };
}

function someGroup(rng: Rng, name: string, priorities: readonly [number, ...number[]]): GroupCase {
  const minCount = maybe(rng, 0.7, () => rng.integer(1, 4));
  return { name, minCount, goesTogether: rng.next() < 0.6, priority: rng.pick(priorities) };
}

/** A pod that goes wherever there is room, so that more preemptions succeed. */
function withoutDemands(pod: PodCase): PodCase {
  const anywhere = { nodeSelector: {}, nodeTerms: undefined, nodeName: undefined, affinity: [], antiAffinity: [], spread: [] };
  const more = { hostPort: undefined, tolerations: [{ operator: 'Exists' }] as const, isNeverPreempting: false, priority: 1000 };
  return { ...pod, ...anywhere, ...more };
}

/** Admission gives every member the priority of its group. */
function memberOf({ name, priority }: GroupCase, pod: PodCase): PodCase {
  return { ...pod, namespace: 'default', group: name, priority };
}
