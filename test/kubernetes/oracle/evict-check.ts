import type { Rng } from '../../../src/core/rng.ts';
import { type Case, type OracleCheck, canonical, maybe, refusal, several, shuffled } from './check.ts';
import { MIB } from './scheduling.ts';

type Signal = 'memory' | 'pid' | 'disk' | 'inodes';

const SIGNALS: readonly Signal[] = ['memory', 'pid', 'disk', 'inodes'];
/** What counts by the layout of a node's disks. */
const LAYOUTS = [['root', 'logs', 'localVolumeSource'], ['logs', 'localVolumeSource'], ['root']] as const;
const PRIORITIES = [undefined, -5, 0, 7, 1000] as const;

interface Usage {
  readonly memory: number;
  readonly processes: number;
  /** Bytes and inodes by where they lie. */
  readonly root: readonly [number, number];
  readonly logs: readonly [number, number];
  readonly volume: readonly [number, number];
}

interface Pod {
  readonly name: string;
  readonly priority: number | undefined;
  readonly memoryRequest: number | undefined;
  readonly storageRequest: number | undefined;
  /** Null when nothing is known of it. */
  readonly usage: Usage | null;
}

/** The order in which a kubelet under pressure evicts. */
export const EVICT_CHECK: OracleCheck = {
  name: 'eviction',
  about: 'some pods on a node that is short of something: the order in which they go, asked in two orders of the same pods',
  makeCase(rng): Case {
    const signal = rng.pick(SIGNALS);
    const measured = rng.pick(LAYOUTS);
    const pods = several(rng.integer(1, 8), (index) => somePod(rng, `pod-${index}`));
    const ask = (some: readonly Pod[]): object => ({
      evict: { signal, measured, pods: some.map(podObject), stats: Object.fromEntries(some.flatMap(statsEntry)) },
    });
    return {
      questions: [ask(pods), ask(shuffled(pods, rng))],
      disagreements: (answers) =>
        answers.flatMap((answer) => {
          const why = refusal(answer);
          if (why !== null) return [`refused: ${why}`];
          const { order } = answer as { readonly order: readonly string[] };
          return misplaced(order, pods, (pod) => rankOf(pod, signal, measured))
            ? [`${signal} ${measured.join('+')}: ${order.join(' ')}`]
            : [];
        }),
      outcome: () => `short of ${signal === 'pid' ? 'processes' : signal}`,
    };
  },
};

/** Ties may come in any order. */
function misplaced(order: readonly string[], pods: readonly Pod[], rank: (pod: Pod) => readonly number[]): boolean {
  if (canonical([...order].sort()) !== canonical(pods.map(({ name }) => name).sort())) return true;
  const ranks = order.map((name) => rank(pods.find((pod) => pod.name === name) as Pod));
  return ranks.some((each, index) => index > 0 && compare(ranks[index - 1] ?? [], each) > 0);
}

function compare(first: readonly number[], second: readonly number[]): number {
  const at = first.findIndex((value, index) => value !== second[index]);
  return at < 0 ? 0 : (first[at] ?? 0) - (second[at] ?? 0);
}

/** What we believe: the smaller goes first, item by item. Of processes only the number counts, and who is unknown goes first among his equals alone. */
function rankOf(
  { priority = 0, memoryRequest = 0, storageRequest = 0, usage }: Pod,
  signal: Signal,
  measured: readonly string[],
): readonly number[] {
  const isKnown = usage === null ? 0 : 1;
  if (signal === 'pid') return [priority, isKnown, -(usage?.processes ?? 0)];
  if (usage === null) return [0, 0, priority, 0];
  const used = signal === 'memory' ? usage.memory : diskUse(usage, measured, signal);
  const requests = { memory: memoryRequest, disk: storageRequest, inodes: 0 }[signal];
  // What is subtracted from a number of inodes is a number of bytes.
  const subtracted = signal === 'memory' ? memoryRequest : storageRequest;
  return [1, used > requests ? 0 : 1, priority, -(used - subtracted)];
}

function diskUse({ root, logs, volume }: Usage, measured: readonly string[], signal: 'disk' | 'inodes'): number {
  const places = { root, logs, localVolumeSource: volume } as Readonly<Record<string, readonly [number, number]>>;
  return measured.reduce((sum, place) => sum + (places[place]?.[signal === 'disk' ? 0 : 1] ?? 0), 0);
}

function somePod(rng: Rng, name: string): Pod {
  const amount = (): number => rng.integer(0, 6) * 64 * MIB;
  const onDisk = (): readonly [number, number] => [amount(), rng.integer(0, 5) * 100];
  return {
    name,
    priority: rng.pick(PRIORITIES),
    memoryRequest: maybe(rng, 0.7, amount),
    storageRequest: maybe(rng, 0.5, amount),
    usage:
      maybe(rng, 0.85, () => ({
        memory: amount(),
        processes: rng.integer(0, 9),
        root: onDisk(),
        logs: onDisk(),
        volume: onDisk(),
      })) ?? null,
  };
}

function podObject({ name, priority, memoryRequest, storageRequest }: Pod): unknown {
  const requests = {
    ...(memoryRequest === undefined ? {} : { memory: String(memoryRequest) }),
    ...(storageRequest === undefined ? {} : { 'ephemeral-storage': String(storageRequest) }),
  };
  const spec = { containers: [{ name: 'main', resources: { requests } }], volumes: [{ name: 'scratch', emptyDir: {} }] };
  return { metadata: { name, namespace: 'default', uid: name }, spec: { ...spec, ...(priority === undefined ? {} : { priority }) } };
}

function statsEntry({ name, usage }: Pod): readonly (readonly [string, unknown])[] {
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
