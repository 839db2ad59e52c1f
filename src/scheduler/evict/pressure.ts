/** As a kubelet’s configuration names them. */
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

/** What a kubelet measures to find out that its node runs short. */
export type Signal = (typeof SIGNALS)[number];
type Kind = 'memory' | 'processes' | 'disk' | 'inodes';
type Part = 'root' | 'logs' | 'volume';
type OnDisk = readonly [bytes: number, inodes: number];

/** What a pod uses, by the kubelet’s figures. */
export interface Usage {
  /** The working set, in bytes. */
  readonly memory: number;
  readonly processes: number;
  /** What its containers write. */
  readonly root: OnDisk;
  readonly logs: OnDisk;
  /** Its volumes on the node’s disk, such as emptyDir. */
  readonly volume: OnDisk;
}

/** What a node is short of, and how its disks are laid out. */
export interface Pressure {
  readonly signal: Signal;
  /** Images have a disk of their own. */
  readonly imageFs: boolean;
  /** What containers write is not on that one, but on the node’s. */
  readonly splitFs: boolean;
}

/** The kind of thing that is short. */
export function kindOf({ signal }: Pick<Pressure, 'signal'>): Kind {
  if (signal === 'pid.available') return 'processes';
  if (signal.endsWith('inodesFree')) return 'inodes';
  return signal.endsWith('fs.available') ? 'disk' : 'memory';
}

/** How much a pod uses of what is short, on the disk that is short of it. */
export function usedOf(usage: Usage, pressure: Pressure, kind: Exclude<Kind, 'processes'>): number {
  if (kind === 'memory') return usage.memory;
  return partsOn(pressure).reduce((sum, part) => sum + usage[part][kind === 'disk' ? 0 : 1], 0);
}

/** What lies on the disk that is short. A disk with nothing but images has nothing of any pod. */
function partsOn({ signal, imageFs, splitFs }: Pressure): readonly Part[] {
  const isOfImages = signal.startsWith('imagefs');
  if (!imageFs) return ['root', 'logs', 'volume'];
  if (splitFs) return isOfImages ? [] : ['root', 'logs', 'volume'];
  return isOfImages || signal.startsWith('containerfs') ? ['root'] : ['logs', 'volume'];
}
