import type { Rng } from '../../../src/core/rng.ts';
import { objectOf } from '../../../src/kube/objects/object.ts';
import { SIGNALS, type Usage, kindOf } from '../../../src/scheduler/evict/pressure.ts';
import { type PressedPod, rankForEviction } from '../../../src/scheduler/evict/rank.ts';
import { podDefaultsOf } from '../../../src/scheduler/objects/cluster-input.ts';
import { schedulerPodOf } from '../../../src/scheduler/objects/pod.ts';
import { type Case, type OracleCheck, RELEASES, canonical, maybe, refusal, several, shuffled } from './check.ts';
import { containersOf } from './scheduling-objects.ts';
import { MIB, type PodCase, type Resources } from './scheduling.ts';

interface EvictPod extends Pick<PodCase, 'requests' | 'init' | 'overhead'> {
  readonly name: string;
  readonly priority: number | undefined;
  /** Null when the kubelet has no figures for the pod. */
  readonly usage: Usage | null;
}

const PRIORITIES = [undefined, -5, 0, 7, 1000] as const;

/** The order in which a kubelet under pressure evicts. */
export const EVICT_CHECK: OracleCheck = {
  name: 'eviction',
  releases: RELEASES,
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
          const ranked = rankForEviction(pods.map(pressed), pressure);
          const ours = ranked.map(({ pod, rank }) => `${pod.name} (${rank})`).join(' ');
          const ranks = new Map(ranked.map(({ pod, rank }) => [pod.name, rank]));
          return isInOrder(order, ranks) ? [] : [`${canonical(pressure)}: ${order.join(' ')}, ours ${ours}`];
        }),
      outcome: ([answer]) => `short of ${kindOf(pressure)}: ${whatCounted((answer as Order).order, pods)}`,
    };
  },
};

interface Order {
  readonly order: readonly string[];
}

/** Names the rule that decides the order in this answer. */
function whatCounted(order: readonly string[], pods: readonly EvictPod[]): string {
  const priorities = order.map((name) => pods.find((pod) => pod.name === name)?.priority ?? 0);
  if (priorities.length === 1) return 'there is one pod only';
  const isBelow = (index: number): boolean => (priorities[index - 1] ?? 0) > (priorities[index] ?? 0);
  if (priorities.some((_, index) => index > 0 && isBelow(index))) return 'a more important pod goes before a less important one';
  return new Set(priorities).size < priorities.length ? 'by priority, and among equals by something else' : 'by priority alone';
}

/** Whether each pod is there once, in the order of the ranks. Pods of a rank may have any order. */
function isInOrder(order: readonly string[], ranks: ReadonlyMap<string, number>): boolean {
  if (canonical([...order].sort()) !== canonical([...ranks.keys()].sort())) return false;
  return order.every((name, index) => index === 0 || (ranks.get(order[index - 1] as string) ?? 0) <= (ranks.get(name) ?? 0));
}

function pressed(pod: EvictPod): PressedPod {
  const object = objectOf({ apiVersion: 'v1', kind: 'Pod', ...podObject(pod) });
  if (object === null) throw new Error(`the pod ${pod.name} is no object`);
  return { pod: schedulerPodOf(object, podDefaultsOf([])), usage: pod.usage, isStatic: false };
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

function podObject(pod: EvictPod): object {
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
