import { bytesBelow, ephemeralLimit } from './ephemeral-limit.ts';
import { type EvictionLineWish, evictionLine } from './eviction-line.ts';
import type { EphemeralStorage, Limits } from './space.ts';
import type { Storage } from './storage.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The limits of a save at this place besides the disk: the kubelet's eviction line, and the pod's
 * limit from the environment.
 */
export function limitsOf(storage: Storage, wish: EvictionLineWish, env: Environment): Limits {
  return { evictionLine: evictionLine(wish, { ...storage, ...storage.space }), ephemeral: ephemeralOf(storage, env) };
}

/** The pod's limit counts only the pod's own files on the node's disk. */
function ephemeralOf({ place, folder, mount }: Storage, env: Environment): EphemeralStorage | null {
  const limitBytes = ephemeralLimit(env);
  if (limitBytes === null || (place.id !== 'empty-dir' && place.id !== 'container-layer')) return null;
  // In a pod the mount is the volume. Elsewhere, and for the layer of the container, only this
  // folder surely belongs to the pod.
  const isOwnMount = place.id === 'empty-dir' && mount !== null && mount.root !== '/';
  return { limitBytes, usedBytes: bytesBelow(isOwnMount ? mount.mountPoint : folder) };
}
