import type { FileSystem, Home } from './file-systems.ts';
import { type Mount, mountOfPath } from './mount-table.ts';

/** The place of a path, as a pod sees it. */
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

/**
 * `likely`: a separate disk, which is a persistent volume or, rarely, an ephemeral one.
 * `not-in-pod`: there is no pod to survive.
 */
export type Survival = 'yes' | 'likely' | 'no' | 'not-in-pod' | 'unknown';

/** What kind of place a folder is for checkpoints. */
export interface Place {
  readonly id: PlaceId;
  readonly title: string;
  readonly survivesPod: Survival;
  /** The reason, in one sentence. */
  readonly why: string;
  /** True if the kubelet counts these bytes against the disk of the node. */
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
    why: 'It dies with the container: a restart of the container in the same pod already loses it.',
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
    why: 'It survives the pod, but only on this node: a pod that starts elsewhere does not find it, and it is lost with the node.',
    isOnNodeDisk: true,
  },
  volume: {
    title: 'a volume on a disk of its own',
    survivesPod: 'likely',
    why: 'A persistent volume survives the pod. A generic ephemeral volume and a local SSD do not, but they look the same from here.',
    isOnNodeDisk: false,
  },
  machine: {
    title: 'a disk of this machine',
    survivesPod: 'not-in-pod',
    why: 'This is not a pod: the data stays as long as this machine and its disk.',
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
    title: 'the storage of the program behind the mount',
    survivesPod: 'unknown',
    why: 'Holdfast cannot see which storage is behind this mount.',
    isOnNodeDisk: false,
  },
};

/** The facts about this place. */
export interface NodeFacts {
  readonly fileSystem: FileSystem;
  /** The path, absolute and without links. */
  readonly realPath: string;
  readonly mount: Mount | null;
  /** The device of the node's disk with the kubelet's pods; null without a visible kubelet. */
  readonly nodeDevice: string | null;
  readonly isInPod: boolean;
}

const EMPTY_DIR = /(^|\/)pods\/[^/]+\/volumes\/kubernetes\.io~empty-dir\/[^/]+/;

/** Says what kind of place a folder is. */
export function placeOf(where: NodeFacts): Place {
  const id = placeId(where);
  return { id, ...PLACES[id] };
}

/** The kinds of file systems that decide the place alone. */
const SETTLED: Readonly<Partial<Record<Home, PlaceId>>> = {
  memory: 'memory',
  layer: 'container-layer',
  network: 'network',
  'object-store': 'object-store',
  unknown: 'unknown',
};

function placeId({ fileSystem, realPath, mount, nodeDevice, isInPod }: NodeFacts): PlaceId {
  const settled = SETTLED[fileSystem.home];
  if (settled !== undefined) return settled;
  // In a pod the volume is a bind mount of that folder; on the node itself it is the path.
  if (EMPTY_DIR.test(mount?.root ?? '') || EMPTY_DIR.test(realPath)) return 'empty-dir';
  if (nodeDevice !== null && mount?.device === nodeDevice) return 'node-disk';
  return isInPod ? 'volume' : 'machine';
}

const TERMINATION_LOG = /(^|\/)pods\/[^/]+\/containers\/[^/]+\/[0-9a-f]+$/;

/**
 * The mount through which the kubelet gives every container its /etc/hosts or its termination log:
 * both are files in the folder of the pod on the node's disk. Such a mount shows that this is a
 * pod, and its device is the node's disk.
 */
export function mountOfKubelet(mounts: readonly Mount[]): Mount | null {
  return (
    mounts.find(
      ({ root, mountPoint }) => (mountPoint === '/etc/hosts' && /(^|\/)pods\/[^/]+\/etc-hosts$/.test(root)) || TERMINATION_LOG.test(root),
    ) ?? null
  );
}

/** The device of the node's disk, seen from the node: the device of the kubelet's folder. */
export function deviceOfFolder(folder: string, mounts: readonly Mount[]): string | null {
  return mountOfPath(folder, mounts)?.device ?? null;
}
