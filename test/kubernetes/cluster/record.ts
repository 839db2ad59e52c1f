import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './facility.ts';
import type { ProcessIdentity } from './process-start.ts';
import type { Realm } from './realm.ts';

/**
 * The record of a cluster. It is written before any part of the cluster is made, so that a later
 * process can remove the cluster. Older records lack the optional fields.
 */
export interface ClusterRecord {
  /** The cluster is in use while this process lives. */
  readonly owner: ProcessIdentity;
  /** The process that holds its namespaces; null until they are made. */
  readonly holder: ProcessIdentity | null;
  /** Whether it outlives its owner once it is complete. */
  readonly isKept: boolean;
  /** Whether the cluster is complete. */
  readonly isSettled?: boolean;
  readonly realm?: Realm;
  /** In milliseconds since 1970. */
  readonly claimedAt?: number;
  /** How many inotify instances it will take. */
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

/** Reads the record; null when it is missing or unreadable. */
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
