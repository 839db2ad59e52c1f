import type { NodeCase, PodCase, Resources } from './scheduling.ts';

/** What a container counts for that asks for nothing: a tenth of a processor and 200 MiB. */
const ASSUMED = { cpu: 100, memory: 200 } as const;
const BEST = 100;

/** What we believe NodeResourcesFit gives: the mean of what is left of processors and memory, each in whole percent. */
export function roomScore(pod: PodCase, node: NodeCase, pods: readonly PodCase[]): number {
  const there = [...pods.filter((each) => each.node === node.name), pod];
  const left = (['cpu', 'memory'] as const).map((name) => {
    const capacity = node.allocatable[name];
    const taken = there.reduce((sum, each) => sum + countedFor(each, name), 0);
    return taken > capacity ? 0 : Math.floor(((capacity - taken) * BEST) / capacity);
  });
  return Math.floor(left.reduce((sum, each) => sum + each, 0) / left.length);
}

function countedFor({ requests, initRequests }: PodCase, name: 'cpu' | 'memory'): number {
  const counted = (amounts: Resources): number => (amounts[name] === 0 ? ASSUMED[name] : amounts[name]);
  const hasInit = Object.values(initRequests).some((amount) => amount > 0);
  return Math.max(counted(requests), hasInit ? counted(initRequests) : 0);
}
