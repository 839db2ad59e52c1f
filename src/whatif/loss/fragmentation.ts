import { isAccelerator } from '../../kube/objects/pod-spec.ts';
import type { Cluster } from '../../scheduler/cluster/cluster.ts';
import { PodFilters } from '../../scheduler/filter/filters.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';

/**
 * A request for accelerators that pods of the cluster make, and the nodes that have room for it.
 */
export interface Shape {
  /** `4 nvidia.com/gpu`. */
  readonly request: string;
  readonly accelerators: number;
  /** How many pods ask for it; and how many of them wait. */
  readonly pods: number;
  readonly waiting: number;
  readonly sample: SchedulerPod;
}

const MOST_SHAPES = 8;

/** The most common requests for accelerators, and all that wait. */
export function shapesOf(pods: readonly SchedulerPod[]): readonly Shape[] {
  const found = new Map<string, Shape>();
  for (const pod of pods) {
    if (pod.isOver) continue;
    const asked = [...pod.requests.all].filter(([name, amount]) => isAccelerator(name) && amount > 0);
    if (asked.length === 0) continue;
    const request = asked.map(([name, amount]) => `${amount} ${name}`).join(' + ');
    const waits = pod.nodeName === null;
    const known = found.get(request);
    found.set(request, {
      request,
      accelerators: asked.reduce((sum, [, amount]) => sum + amount, 0),
      pods: (known?.pods ?? 0) + 1,
      waiting: (known?.waiting ?? 0) + (waits ? 1 : 0),
      sample: known !== undefined && !waits ? known.sample : pod,
    });
  }
  return [...found.values()].toSorted((a, b) => b.waiting - a.waiting || b.pods - a.pods).slice(0, MOST_SHAPES);
}

/** On how many nodes one more pod of a shape fits, beside all pods that are there. */
export function nodesFor({ sample }: Shape, cluster: Cluster): number {
  const affinity = { ...sample.affinity, near: [], apart: [] };
  const alone: SchedulerPod = {
    ...sample,
    key: `${sample.key} (shape)`,
    affinity,
    spreads: [],
    hostPorts: [],
    nodeName: null,
    nominatedNode: null,
  };
  const filters = new PodFilters(alone, cluster);
  return cluster.nodes.reduce((count, node) => count + (filters.check(node) === null ? 1 : 0), 0);
}
