import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';

const MIB = 2 ** 20;
/**
 * The room for a control plane's store, its logs and the image archives; and for the files of one
 * ready node.
 */
const [CLUSTER_MIB, NODE_MIB] = [512, 128];

export interface Room {
  readonly path: string;
  readonly freeMiB: number;
}

/** The free space where a folder is, or will be. */
export function roomAt(path: string): Room {
  let there = path;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  const { bavail, bsize } = statfsSync(there);
  return { path, freeMiB: Math.floor((bavail * bsize) / MIB) };
}

/**
 * A message with advice when there is too little room for a cluster, or null. Each node holds the
 * archive and the content of every image.
 */
export function whyRoomIsShort({ path, freeMiB }: Room, nodes: number, imagesMiB = 0): string | null {
  const needed = CLUSTER_MIB + nodes * (NODE_MIB + 2 * imagesMiB);
  if (freeMiB >= needed) return null;
  return (
    `a cluster of ${nodes === 1 ? '1 node' : `${nodes} nodes`} needs ${needed} MiB at least, and ${path} has ${freeMiB} MiB free: ` +
    'make room there, or set HOLDFAST_CACHE to a folder on a larger disk'
  );
}
