import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';

const MIB = 2 ** 20;
/** For the store of a control plane, logs and the archives of images; and for what each node has on its disk once it is ready. */
const [CLUSTER_MIB, NODE_MIB] = [512, 128];

export interface Room {
  readonly path: string;
  readonly freeMiB: number;
}

/** How much is free where a folder is, or will be. */
export function roomAt(path: string): Room {
  let there = path;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  const { bavail, bsize } = statfsSync(there);
  return { path, freeMiB: Math.floor((bavail * bsize) / MIB) };
}

/** Says so when a cluster cannot be started for want of room, and what to do. A node has the archive of every image, and what is in it. */
export function whyRoomIsShort({ path, freeMiB }: Room, nodes: number, imagesMiB = 0): string | null {
  const needed = CLUSTER_MIB + nodes * (NODE_MIB + 2 * imagesMiB);
  if (freeMiB >= needed) return null;
  return (
    `a cluster of ${nodes === 1 ? '1 node' : `${nodes} nodes`} needs ${needed} MiB at least, and ${path} has ${freeMiB} MiB free: ` +
    'make room there, or set HOLDFAST_CACHE to a folder on a larger disk'
  );
}
