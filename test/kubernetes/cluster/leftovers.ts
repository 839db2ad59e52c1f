import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endHolder } from './box.ts';
import { removeCgroup } from './cgroups.ts';
import { cacheFolder } from './facility.ts';
import { type ProcessIdentity, identify, isThere } from './process-start.ts';

const CGROUP_PREFIX = 'holdfast-cluster-';

/** What is written down about a cluster before anything of it is made, so that whoever comes later can take it down. */
interface ClusterRecord {
  /** While this process is there the cluster is in use. */
  readonly owner: ProcessIdentity;
  /** The process that holds its namespaces; null until they are made. */
  readonly holder: ProcessIdentity | null;
  /** It is to outlive its owner. */
  readonly isKept: boolean;
}

export interface ClusterPlace {
  readonly id: string;
  readonly folder: string;
}

function clustersFolder(): string {
  return join(cacheFolder(), 'clusters');
}

export function cgroupOf(id: string): string {
  return `${CGROUP_PREFIX}${id}`;
}

/** A new cluster's folder, with its record. */
export function claimPlace(isKept: boolean): ClusterPlace {
  const id = randomBytes(4).toString('hex');
  const folder = join(clustersFolder(), id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeRecord({ id, folder }, { owner: identify(process.pid), holder: null, isKept });
  return { id, folder };
}

/** Writes down who holds the namespaces, now that they are there. */
export function recordHolder(place: ClusterPlace, holder: ProcessIdentity, isKept: boolean): void {
  writeRecord(place, { owner: identify(process.pid), holder, isKept });
}

/** Ends everything of a cluster and removes what the kernel does not: its cgroups and its folder. */
export async function removeCluster(place: ClusterPlace): Promise<void> {
  const record = readRecord(place);
  if (record?.holder != null) await endHolder(record.holder);
  removeCgroup(cgroupOf(place.id));
  rmSync(place.folder, { recursive: true, force: true });
}

/** Takes down what sessions that were killed have left. Those in use and those that are kept stay. */
export async function removeLeftovers(): Promise<string[]> {
  const places = clusterPlaces().filter((place) => isLeftOver(readRecord(place)));
  for (const place of places) await removeCluster(place);
  return places.map(({ id }) => id);
}

/** The clusters that outlive whoever made them. */
export function keptClusters(): ClusterPlace[] {
  return clusterPlaces().filter((place) => {
    const record = readRecord(place);
    return record !== null && record.isKept && !isLeftOver(record);
  });
}

function isLeftOver(record: ClusterRecord | null): boolean {
  if (record === null) return true;
  if (isThere(record.owner)) return false;
  return !record.isKept || record.holder === null || !isThere(record.holder);
}

function clusterPlaces(): ClusterPlace[] {
  const root = clustersFolder();
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .filter((name) => /^[0-9a-f]{8}$/.test(name))
    .map((id) => ({ id, folder: join(root, id) }));
}

function readRecord({ folder }: ClusterPlace): ClusterRecord | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'record.json'), 'utf8')) as ClusterRecord;
  } catch {
    return null;
  }
}

function writeRecord({ folder }: ClusterPlace, record: ClusterRecord): void {
  writeFileSync(join(folder, 'record.new'), JSON.stringify(record));
  renameSync(join(folder, 'record.new'), join(folder, 'record.json'));
}
