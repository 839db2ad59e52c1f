import { requestsAtEviction } from './requests-model.ts';
import { MIB, type PodCase } from './scheduling.ts';

/** As a kubelet's configuration names them. */
export const SIGNALS = [
  'memory.available',
  'allocatableMemory.available',
  'pid.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
] as const;

type Signal = (typeof SIGNALS)[number];
type Kind = 'memory' | 'processes' | 'disk' | 'inodes';
type Place = 'root' | 'logs' | 'volume';

export interface Usage {
  readonly memory: number;
  readonly processes: number;
  /** Bytes and inodes by where they lie. */
  readonly root: readonly [number, number];
  readonly logs: readonly [number, number];
  readonly volume: readonly [number, number];
}

export interface EvictPod extends Pick<PodCase, 'requests' | 'init' | 'overhead'> {
  readonly name: string;
  readonly priority: number | undefined;
  /** Null when nothing is known of it. */
  readonly usage: Usage | null;
}

/** What a node is short of, and how its disks are laid out. */
export interface Pressure {
  readonly signal: Signal;
  /** Images have a disk of their own. */
  readonly imageFs: boolean;
  /** What containers write is not on that one, but on the node's. */
  readonly splitFs: boolean;
}

export function kindOf({ signal }: Pick<Pressure, 'signal'>): Kind {
  if (signal === 'pid.available') return 'processes';
  if (signal.endsWith('inodesFree')) return 'inodes';
  return signal.endsWith('fs.available') ? 'disk' : 'memory';
}

/** What we believe: the smaller goes first, item by item. Of processes only the number counts, and who is unknown goes first among his equals alone. */
export function rankOf(pod: EvictPod, pressure: Pressure): readonly number[] {
  const { priority = 0, usage } = pod;
  const kind = kindOf(pressure);
  if (kind === 'processes') return [priority, usage === null ? 0 : 1, -(usage?.processes ?? 0)];
  if (usage === null) return [0, 0, priority, 0];
  const used = usedOf(usage, pressure, kind);
  const { memory, disk } = requestsAtEviction(pod);
  const requested = { memory: memory * MIB, disk: disk * MIB, inodes: 0 }[kind];
  // What is subtracted from a number of inodes is a number of bytes.
  const subtracted = (kind === 'memory' ? memory : disk) * MIB;
  return [1, used > requested ? 0 : 1, priority, -(used - subtracted)];
}

function usedOf(usage: Usage, pressure: Pressure, kind: 'memory' | 'disk' | 'inodes'): number {
  if (kind === 'memory') return usage.memory;
  return placesOf(pressure).reduce((sum, place) => sum + usage[place][kind === 'disk' ? 0 : 1], 0);
}

/** What lies on the disk that is short. Where it has nothing but images, nothing of any pod does. */
function placesOf({ signal, imageFs, splitFs }: Pressure): readonly Place[] {
  const isOfImages = signal.startsWith('imagefs');
  if (!imageFs) return ['root', 'logs', 'volume'];
  if (splitFs) return isOfImages ? [] : ['root', 'logs', 'volume'];
  return isOfImages || signal.startsWith('containerfs') ? ['root'] : ['logs', 'volume'];
}
