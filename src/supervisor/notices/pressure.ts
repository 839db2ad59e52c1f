import { readFileSync, statfsSync } from 'node:fs';
import { bytesBelow, ephemeralLimit } from '../../volumes/ephemeral-limit.ts';
import { type EvictionLine, type EvictionLineWish, evictionLine } from '../../volumes/eviction-line.ts';
import { parseMountTable } from '../../volumes/mount-table.ts';
import { mountOfKubelet } from '../../volumes/place.ts';
import { evictionLineWish } from '../../volumes/save-settings.ts';
import { describeStorage } from '../../volumes/storage.ts';
import { formatBytes } from '../../core/bytes.ts';
import type { Pressure } from '../../domain/grace/effective-grace.ts';
import { containerMemory } from './container-memory.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A place on the node's own disk, and the line at which the kubelet evicts. */
interface WatchedPlace {
  readonly path: string;
  readonly line: Pick<EvictionLine, 'bytes' | 'inodes' | 'text'>;
}

/**
 * How near to the line counts as crossed. The kubelet sees it crossed seconds before its signal
 * comes, and the use changes meanwhile.
 */
const NEAR = 1.1;
/** Where the kubelet evicts for memory by default. */
const NODE_MEMORY_LINE_BYTES = 100 * 1024 * 1024;
/** From this share of its own limits on, a container is about to be killed. */
const NEAR_LIMIT = 0.98;

/**
 * Finds once which resources can cause an eviction of this pod, and returns a function that looks
 * at them. The function makes a handful of system calls on local disks when a notice comes. Outside
 * a pod there are no evictions, and it looks at nothing.
 */
export function preparePressure(dir: string, env: Environment): () => readonly Pressure[] {
  const places = watchedPlaces(dir, evictionLineWish(env));
  if (places === null) return () => [];
  const own = ownStorage(dir, env);
  return () => [
    ...places.flatMap(({ path, line }) => guarded(() => diskPressure(path, line))).slice(0, 1),
    ...guarded(() => storagePressure(own)),
    ...guarded(nodeMemoryPressure),
    ...guarded(containerPressure),
  ];
}

/**
 * The pod's volumes on the node's disk, the container's layer, and the run's folder if it lies on
 * either; null outside a pod.
 */
function watchedPlaces(dir: string, wish: EvictionLineWish): readonly WatchedPlace[] | null {
  const kubelet = mountOfKubelet(parseMountTable(readFileSync('/proc/self/mountinfo', 'utf8')));
  if (kubelet === null) return null;
  const facts = statfsSync(kubelet.mountPoint);
  // The kubelet's mounts in every container lie on its own disk, which also holds the emptyDirs.
  const node = {
    folder: kubelet.mountPoint,
    place: { id: 'empty-dir', isOnNodeDisk: true },
    totalBytes: facts.blocks * facts.bsize,
    totalInodes: facts.files,
    hasImageDisk: false,
  } as const;
  const others = ['/', dir].map((path) => describeStorage(path)).filter(({ place }) => place.isOnNodeDisk);
  return [node, ...others.map((storage) => ({ ...storage, ...storage.space }))].flatMap((watched) => {
    const line = evictionLine(wish, watched);
    return line === null ? [] : [{ path: watched.folder, line }];
  });
}

/**
 * The folder that certainly belongs to the pod and counts against its limit; null when no limit is
 * known.
 */
function ownStorage(dir: string, env: Environment): { readonly folder: string; readonly limitBytes: number } | null {
  const limitBytes = ephemeralLimit(env);
  if (limitBytes === null) return null;
  const { place, folder } = describeStorage(dir);
  return place.id === 'empty-dir' || place.id === 'container-layer' ? { folder, limitBytes } : null;
}

/** The pressure on a disk whose free bytes or inodes are near the eviction line. */
export function diskPressure(path: string, line: WatchedPlace['line']): readonly Pressure[] {
  const { bavail, blocks, bsize, ffree, files } = statfsSync(path);
  if (bavail * bsize < line.bytes * NEAR) {
    const share = ((100 * bavail) / Math.max(1, blocks)).toFixed(1);
    return [{ resource: 'disk', seen: `${share} % of the disk under ${path} is free, eviction begins at ${line.text}` }];
  }
  if (files > 0 && ffree < line.inodes * NEAR)
    return [{ resource: 'inodes', seen: `${ffree} inodes are free under ${path}, eviction begins at ${line.inodes}` }];
  return [];
}

function storagePressure(own: ReturnType<typeof ownStorage>): readonly Pressure[] {
  if (own === null) return [];
  const used = bytesBelow(own.folder);
  if (used < own.limitBytes * NEAR_LIMIT) return [];
  return [
    {
      resource: 'disk',
      seen: `the run holds ${formatBytes(used)} of the ${formatBytes(own.limitBytes)} that the pod may keep on its node`,
    },
  ];
}

function nodeMemoryPressure(): readonly Pressure[] {
  const kib = /^MemAvailable:\s*(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'latin1'))?.[1];
  if (kib === undefined || Number(kib) * 1024 >= NODE_MEMORY_LINE_BYTES * NEAR) return [];
  return [
    { resource: 'memory', seen: `${formatBytes(Number(kib) * 1024)} are free, eviction begins at ${formatBytes(NODE_MEMORY_LINE_BYTES)}` },
  ];
}

function containerPressure(): readonly Pressure[] {
  const memory = containerMemory();
  if (memory === null || memory.usedBytes < memory.limitBytes * NEAR_LIMIT) return [];
  return [
    {
      resource: 'memory',
      seen: `the container uses ${formatBytes(memory.usedBytes)} of the ${formatBytes(memory.limitBytes)} that it may have`,
    },
  ];
}

/** Takes an unreadable resource as free of pressure, so that no notice is lost to it. */
function guarded(look: () => readonly Pressure[]): readonly Pressure[] {
  try {
    return look();
  } catch {
    return [];
  }
}
