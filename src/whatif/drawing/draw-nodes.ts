import { isAccelerator } from '../../kube/objects/pod-spec.ts';
import type { Cluster } from '../../scheduler/cluster/cluster.ts';
import type { SchedulerPod } from '../../scheduler/objects/pod.ts';

/** What happens to one accelerator of a node. */
export type Cell = 'used' | 'evicted' | 'stopped' | 'new' | 'free';

/** The accelerators of a node, one cell each, before and after. */
export interface NodeDrawing {
  readonly node: string;
  readonly now: readonly Cell[];
  /** Empty for a node that is gone. */
  readonly afterwards: readonly Cell[];
}

/** What changes in a cluster. */
export interface Change {
  readonly before: Cluster;
  readonly after: Cluster;
  /** Keys of pods that leave. */
  readonly leaving: ReadonlySet<string>;
  /** Keys of pods that stay, but stop training because their gang lost a pod. */
  readonly stopped: ReadonlySet<string>;
  /** Keys of pods that came. */
  readonly coming: ReadonlySet<string>;
}

/** More accelerators than any machine has; a node that claims more is drawn up to here. */
const MOST_CELLS = 64;

/** Draws the nodes where something changes, in the order of the cluster. */
export function drawNodes({ before, after, leaving, stopped, coming }: Change): readonly NodeDrawing[] {
  const cellOf = (pod: SchedulerPod): Cell => {
    if (coming.has(pod.key)) return 'new';
    if (leaving.has(pod.key)) return 'evicted';
    return stopped.has(pod.key) ? 'stopped' : 'used';
  };
  return before.nodes.flatMap(({ node }): readonly NodeDrawing[] => {
    const [was, will] = [podsOn(before, node.name), podsOn(after, node.name)];
    const isTouched = was.some((pod) => cellOf(pod) !== 'used') || will.some((pod) => cellOf(pod) === 'new');
    if (!isTouched) return [];
    const capacity = acceleratorsOf(node.allocatable);
    return [
      {
        node: node.name,
        now: cells(was, capacity, cellOf),
        afterwards: after.node(node.name) === null ? [] : cells(will, capacity, cellOf),
      },
    ];
  });
}

function podsOn(cluster: Cluster, node: string): readonly SchedulerPod[] {
  return cluster.node(node)?.pods.map(({ pod }) => pod) ?? [];
}

/** Those that stay come first, so that the two sides of a drawing line up. */
const ORDER: readonly Cell[] = ['used', 'stopped', 'evicted', 'new', 'free'];

function cells(pods: readonly SchedulerPod[], capacity: number, cellOf: (pod: SchedulerPod) => Cell): readonly Cell[] {
  const taken = pods.flatMap((pod) =>
    Array.from<Cell>({ length: Math.min(MOST_CELLS, acceleratorsOf(pod.requests.all)) }).fill(cellOf(pod)),
  );
  const free = Math.max(0, Math.min(MOST_CELLS, capacity) - taken.length);
  return [...taken, ...Array.from<Cell>({ length: free }).fill('free')]
    .toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))
    .slice(0, MOST_CELLS);
}

/** The accelerators in a list of amounts, of all kinds together. */
export function acceleratorsOf(amounts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [name, amount] of amounts) if (isAccelerator(name)) sum += amount;
  return sum;
}
