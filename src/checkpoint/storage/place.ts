import type { FileSystem, Home } from './file-systems.ts';
import { type Mount, mountOfPath } from './mount-table.ts';

/** Where a path lies, as a pod sees it. */
export type PlaceId =
  | 'memory'
  | 'container-layer'
  | 'empty-dir'
  | 'node-disk'
  | 'volume'
  | 'machine'
  | 'network'
  | 'object-store'
  | 'unknown';

/** `likely`: a disk of its own, which is a persistent volume unless somebody made it ephemeral. `not-in-pod`: there is no pod to survive. */
export type Survival = 'yes' | 'likely' | 'no' | 'not-in-pod' | 'unknown';

export interface Place {
  readonly id: PlaceId;
  readonly title: string;
  readonly survivesPod: Survival;
  /** One sentence: why it does or does not. */
  readonly why: string;
  /** True where the kubelet counts these bytes against the disk of the node. */
  readonly isOnNodeDisk: boolean;
}

const PLACES: Readonly<Record<PlaceId, Omit<Place, 'id'>>> = {
  memory: {
    title: 'memory',
    survivesPod: 'no',
    why: 'It dies with the pod or container that has it, and with a power cut.',
    isOnNodeDisk: false,
  },
  'container-layer': {
    title: 'the writable layer of the container',
    survivesPod: 'no',
    why: 'It dies with the container: already a restart of the container in the same pod begins without it.',
    isOnNodeDisk: true,
  },
  'empty-dir': {
    title: 'an emptyDir volume on the disk of the node',
    survivesPod: 'no',
    why: 'It survives a restart of the container, and dies with the pod.',
    isOnNodeDisk: true,
  },
  'node-disk': {
    title: 'the disk of the node',
    survivesPod: 'yes',
    why: 'It survives the pod, but only on this node: a pod that starts elsewhere does not find it, and a node that goes takes it along.',
    isOnNodeDisk: true,
  },
  volume: {
    title: 'a volume on a disk of its own',
    survivesPod: 'likely',
    why: 'A persistent volume survives the pod; a generic ephemeral volume and a local SSD look the same from here and do not.',
    isOnNodeDisk: false,
  },
  machine: {
    title: 'a disk of this machine',
    survivesPod: 'not-in-pod',
    why: 'This is no pod: it stays as long as this machine and its disk do.',
    isOnNodeDisk: false,
  },
  network: {
    title: 'a network file system',
    survivesPod: 'yes',
    why: 'It lies on servers: it survives the pod and the node.',
    isOnNodeDisk: false,
  },
  'object-store': {
    title: 'a bucket behind a mount',
    survivesPod: 'yes',
    why: 'Objects whose upload was finished survive the pod and the node.',
    isOnNodeDisk: false,
  },
  unknown: {
    title: 'whatever the program behind the mount keeps it on',
    survivesPod: 'unknown',
    why: 'What lies behind this mount cannot be seen from here.',
    isOnNodeDisk: false,
  },
};

/** What is known about where we are. */
export interface Surroundings {
  readonly fileSystem: FileSystem;
  /** The path, absolute and without links. */
  readonly realPath: string;
  readonly mount: Mount | null;
  /** The device of the node's disk where the kubelet keeps its pods; null when there is no kubelet to be seen. */
  readonly nodeDevice: string | null;
  readonly isInPod: boolean;
}

const EMPTY_DIR = /(^|\/)pods\/[^/]+\/volumes\/kubernetes\.io~empty-dir\/[^/]+/;

export function placeOf(where: Surroundings): Place {
  const id = placeId(where);
  return { id, ...PLACES[id] };
}

/** Where the file system alone settles the place. */
const SETTLED: Readonly<Partial<Record<Home, PlaceId>>> = {
  memory: 'memory',
  layer: 'container-layer',
  network: 'network',
  'object-store': 'object-store',
  unknown: 'unknown',
};

function placeId({ fileSystem, realPath, mount, nodeDevice, isInPod }: Surroundings): PlaceId {
  const settled = SETTLED[fileSystem.home];
  if (settled !== undefined) return settled;
  // In a pod the volume is a bind mount of that folder; on the node itself it is the path.
  if (EMPTY_DIR.test(mount?.root ?? '') || EMPTY_DIR.test(realPath)) return 'empty-dir';
  if (nodeDevice !== null && mount?.device === nodeDevice) return 'node-disk';
  return isInPod ? 'volume' : 'machine';
}

const TERMINATION_LOG = /(^|\/)pods\/[^/]+\/containers\/[^/]+\/[0-9a-f]+$/;

/**
 * The mount by which the kubelet gives every container its /etc/hosts or its termination log: both are files in the folder of the pod on
 * the node's disk. Having one means to be in a pod, and its device is the node's disk.
 */
export function mountOfKubelet(mounts: readonly Mount[]): Mount | null {
  return (
    mounts.find(
      ({ root, mountPoint }) => (mountPoint === '/etc/hosts' && /(^|\/)pods\/[^/]+\/etc-hosts$/.test(root)) || TERMINATION_LOG.test(root),
    ) ?? null
  );
}

/** The device of the node's disk as seen on the node itself: the one that holds the kubelet's folder. */
export function deviceOfFolder(folder: string, mounts: readonly Mount[]): string | null {
  return mountOfPath(folder, mounts)?.device ?? null;
}
