import { at, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import { parseQuantity } from '../../kube/objects/quantity.ts';
import type { Pressure, Usage } from '../../scheduler/evict/pressure.ts';

/** What is known of the usage on a node. */
export interface NodeStats {
  /** By `namespace/name`. */
  readonly usage: ReadonlyMap<string, Usage>;
  /** Whether the numbers cover disks too; metrics.k8s.io has memory only. */
  readonly hasDisk: boolean;
  readonly layout: Pick<Pressure, 'imageFs' | 'splitFs'>;
  /** For people: `the kubelet’s summary`. */
  readonly from: string;
}

const NONE = [0, 0] as const;

/** Reads the answer of a kubelet’s `/stats/summary`; null if it is none. */
export function statsOfSummary(value: unknown, from: string): NodeStats | null {
  if (!Array.isArray(at(value, 'pods'))) return null;
  const usage = new Map(
    listAt(value, 'pods').flatMap((pod): readonly (readonly [string, Usage])[] => {
      const [namespace, name] = [textAt(pod, 'podRef', 'namespace'), textAt(pod, 'podRef', 'name')];
      return namespace === null || name === null ? [] : [[`${namespace}/${name}`, usageOf(pod)]];
    }),
  );
  const [disk, images] = [numberAt(value, 'node', 'fs', 'capacityBytes'), numberAt(value, 'node', 'runtime', 'imageFs', 'capacityBytes')];
  const containers = numberAt(value, 'node', 'runtime', 'containerFs', 'capacityBytes');
  const imageFs = images !== null && disk !== null && images !== disk;
  return { usage, hasDisk: true, layout: { imageFs, splitFs: imageFs && containers !== null && containers === disk }, from };
}

function usageOf(pod: unknown): Usage {
  const containers = listAt(pod, 'containers');
  const sum = (entries: readonly unknown[], ...path: readonly string[]): readonly [number, number] => [
    entries.reduce<number>((total, entry) => total + (numberAt(entry, ...path, 'usedBytes') ?? 0), 0),
    entries.reduce<number>((total, entry) => total + (numberAt(entry, ...path, 'inodesUsed') ?? 0), 0),
  ];
  const ofContainers = containers.reduce<number>((total, each) => total + (numberAt(each, 'memory', 'workingSetBytes') ?? 0), 0);
  return {
    memory: numberAt(pod, 'memory', 'workingSetBytes') ?? ofContainers,
    processes: numberAt(pod, 'process_stats', 'process_count') ?? 0,
    root: sum(containers, 'rootfs'),
    logs: sum(containers, 'logs'),
    // A claim’s volume does not lie on the node’s own disk.
    volume: sum(listAt(pod, 'volume').filter((each) => at(each, 'pvcRef') === undefined)),
  };
}

/** Reads a PodMetricsList of metrics.k8s.io; null if it is none. */
export function statsOfMetrics(value: unknown): NodeStats | null {
  if (!Array.isArray(at(value, 'items'))) return null;
  const usage = new Map(
    listAt(value, 'items').flatMap((pod): readonly (readonly [string, Usage])[] => {
      const [namespace, name] = [textAt(pod, 'metadata', 'namespace'), textAt(pod, 'metadata', 'name')];
      const memory = listAt(pod, 'containers').reduce<number>((sum, each) => sum + (parseQuantity(at(each, 'usage', 'memory')) ?? 0), 0);
      return namespace === null || name === null
        ? []
        : [[`${namespace}/${name}`, { memory, processes: 0, root: NONE, logs: NONE, volume: NONE }]];
    }),
  );
  return { usage, hasDisk: false, layout: { imageFs: false, splitFs: false }, from: 'metrics.k8s.io' };
}
