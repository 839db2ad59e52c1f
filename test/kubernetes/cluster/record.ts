import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './facility.ts';
import type { ProcessIdentity } from './process-start.ts';
import type { Realm } from './realm.ts';

/** What is written down about a cluster before anything of it is made, so that whoever comes later can take it down. Records of old lack what may be left out. */
export interface ClusterRecord {
  /** While this process is there the cluster is in use. */
  readonly owner: ProcessIdentity;
  /** The process that holds its namespaces; null until they are made. */
  readonly holder: ProcessIdentity | null;
  /** It is to outlive its owner, once it has settled. */
  readonly isKept: boolean;
  /** All that belongs to it is there. */
  readonly isSettled?: boolean;
  readonly realm?: Realm;
  /** In milliseconds since 1970. */
  readonly claimedAt?: number;
  /** How many instances of inotify it is going to take. */
  readonly inotify?: number;
}

export interface ClusterPlace {
  readonly id: string;
  readonly folder: string;
}

export function clustersFolder(): string {
  return join(cacheFolder(), 'clusters');
}

export function clusterPlaces(): ClusterPlace[] {
  const root = clustersFolder();
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .filter((name) => /^[0-9a-f]{8}$/.test(name))
    .map((id) => ({ id, folder: join(root, id) }));
}

/** Null when there is none that can be read. */
export function readRecord({ folder }: ClusterPlace): ClusterRecord | null {
  try {
    const record = JSON.parse(readFileSync(join(folder, 'record.json'), 'utf8')) as Partial<ClusterRecord> | null;
    return typeof record?.owner?.pid === 'number' ? ({ holder: null, isKept: false, ...record } as ClusterRecord) : null;
  } catch {
    return null;
  }
}

export function writeRecord({ folder }: ClusterPlace, record: ClusterRecord): void {
  writeFileSync(join(folder, 'record.new'), JSON.stringify(record));
  renameSync(join(folder, 'record.new'), join(folder, 'record.json'));
}
