import type { Rng } from '../../../src/core/rng.ts';
import { type Case, type OracleCheck, canonical, maybe, refusal, several, shuffled } from './check.ts';
import { type EvictPod, SIGNALS, kindOf, rankOf } from './evict-model.ts';
import { containersOf } from './scheduling-objects.ts';
import { MIB, type Resources } from './scheduling.ts';

const PRIORITIES = [undefined, -5, 0, 7, 1000] as const;

/** The order in which a kubelet under pressure evicts. */
export const EVICT_CHECK: OracleCheck = {
  name: 'eviction',
  about:
    'some pods, with sidecars and overhead, on a node that a signal of its kubelet says is short of something, with its disks laid out in one of the ways it knows: the order in which they go, by the ranking that the kubelet chooses itself, asked in two orders of the same pods',
  makeCase(rng): Case {
    const pressure = { signal: rng.pick(SIGNALS), imageFs: rng.next() < 0.6, splitFs: rng.next() < 0.4 };
    const pods = several(rng.integer(1, 8), (index) => somePod(rng, `pod-${index}`));
    const ask = (some: readonly EvictPod[]): object => ({
      evict: { ...pressure, pods: some.map(podObject), stats: Object.fromEntries(some.flatMap(statsEntry)) },
    });
    return {
      questions: [ask(pods), ask(shuffled(pods, rng))],
      disagreements: (answers) =>
        answers.flatMap((answer) => {
          const why = refusal(answer);
          if (why !== null) return [`refused: ${why}`];
          const { order } = answer as Order;
          return misplaced(order, pods, (pod) => rankOf(pod, pressure)) ? [`${canonical(pressure)}: ${order.join(' ')}`] : [];
        }),
      outcome: ([answer]) => `short of ${kindOf(pressure)}: ${whatCounted((answer as Order).order, pods)}`,
    };
  },
};

interface Order {
  readonly order: readonly string[];
}

/** What of the answer shows by what it is ordered. */
function whatCounted(order: readonly string[], pods: readonly EvictPod[]): string {
  const priorities = order.map((name) => pods.find((pod) => pod.name === name)?.priority ?? 0);
  if (priorities.length === 1) return 'there is one pod only';
  const isBelow = (index: number): boolean => (priorities[index - 1] ?? 0) > (priorities[index] ?? 0);
  if (priorities.some((_, index) => index > 0 && isBelow(index))) return 'somebody more important goes before somebody less important';
  return new Set(priorities).size < priorities.length ? 'by priority, and among equals by something else' : 'by priority alone';
}

/** Ties may come in any order. */
function misplaced(order: readonly string[], pods: readonly EvictPod[], rank: (pod: EvictPod) => readonly number[]): boolean {
  if (canonical([...order].sort()) !== canonical(pods.map(({ name }) => name).sort())) return true;
  const ranks = order.map((name) => rank(pods.find((pod) => pod.name === name) as EvictPod));
  return ranks.some((each, index) => index > 0 && compare(ranks[index - 1] ?? [], each) > 0);
}

function compare(first: readonly number[], second: readonly number[]): number {
  const at = first.findIndex((value, index) => value !== second[index]);
  return at < 0 ? 0 : (first[at] ?? 0) - (second[at] ?? 0);
}

function somePod(rng: Rng, name: string): EvictPod {
  const amount = (): number => rng.integer(0, 6) * 64;
  const onDisk = (): readonly [number, number] => [amount() * MIB, rng.integer(0, 5) * 100];
  const resources = (): Resources => ({
    cpu: 0,
    memory: maybe(rng, 0.7, amount) ?? 0,
    gpu: 0,
    disk: maybe(rng, 0.5, amount) ?? 0,
  });
  return {
    name,
    priority: rng.pick(PRIORITIES),
    requests: resources(),
    init: several(rng.next() < 0.2 ? rng.integer(1, 2) : 0, () => ({ image: '', requests: resources(), isSidecar: rng.next() < 0.5 })),
    overhead: maybe(rng, 0.2, resources),
    usage:
      maybe(rng, 0.85, () => ({
        memory: amount() * MIB,
        processes: rng.integer(0, 9),
        root: onDisk(),
        logs: onDisk(),
        volume: onDisk(),
      })) ?? null,
  };
}

function podObject(pod: EvictPod): unknown {
  const { name, priority } = pod;
  const spec = { ...containersOf({ ...pod, image: '', hostPort: undefined }), volumes: [{ name: 'scratch', emptyDir: {} }] };
  return { metadata: { name, namespace: 'default', uid: name }, spec: { ...spec, ...(priority === undefined ? {} : { priority }) } };
}

function statsEntry({ name, usage }: EvictPod): readonly (readonly [string, unknown])[] {
  if (usage === null) return [];
  const file = ([usedBytes, inodesUsed]: readonly [number, number]): unknown => ({ usedBytes, inodesUsed });
  return [
    [
      name,
      {
        memory: { workingSetBytes: usage.memory },
        process_stats: { process_count: usage.processes },
        containers: [{ name: 'main', rootfs: file(usage.root), logs: file(usage.logs) }],
        volume: [{ name: 'scratch', ...(file(usage.volume) as object) }],
      },
    ],
  ];
}
