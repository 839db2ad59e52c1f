import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endHolder, killHolder } from './box.ts';
import { isCgroupRemoved } from './cgroups.ts';
import { cacheFolder } from './facility.ts';
import { unlessGone } from './gone.ts';
import { type ProcessIdentity, identify, isThere } from './process-start.ts';
import { eventually } from './wait.ts';

const CGROUP_PREFIX = 'holdfast-cluster-';
/** Far longer than it takes to write a record. */
const CLAIM_MS = 60_000;
/** How long a process that is about to end waits for the end of its clusters: the kernel needs a second for a large one. */
const [END_TURNS, END_TURN_MS] = [600, 50];

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
  // The kernel may be busy with the end of its processes for a moment.
  await eventually(`the cgroups of ${place.id} to be empty`, () => (isCgroupRemoved(cgroupOf(place.id)) ? true : null));
  rmSync(place.folder, { recursive: true, force: true });
}

/** Takes down what sessions that were killed have left. Those in use and those that are kept stay. */
export async function removeLeftovers(): Promise<string[]> {
  const places = clusterPlaces().filter((place) => isLeftOver(readRecord(place)) && !isJustClaimed(place));
  for (const place of places) await removeCluster(place);
  return places.map(({ id }) => id);
}

/** Takes down what this process has made and does not keep, without waiting for a turn: for one that is about to end. */
export function removeOwnAtOnce(): void {
  const self = identify(process.pid);
  const isOwn = (record: ClusterRecord | null): record is ClusterRecord =>
    record !== null && !record.isKept && record.owner.pid === self.pid && record.owner.start === self.start;
  for (const place of clusterPlaces()) {
    const record = readRecord(place);
    if (!isOwn(record)) continue;
    const left = record.holder === null ? [] : killHolder(record.holder);
    const isGone = (): boolean => !left.some(isThere) && isCgroupRemoved(cgroupOf(place.id));
    // What is still there then is removed by the next start.
    for (let turn = 0; turn < END_TURNS && !isGone(); turn += 1) pause(END_TURN_MS);
    rmSync(place.folder, { recursive: true, force: true });
  }
}

/** Nothing else happens in this process meanwhile. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
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

/** Its record is not written yet, by somebody who starts a cluster at the same moment. */
function isJustClaimed(place: ClusterPlace): boolean {
  const made = unlessGone(() => statSync(place.folder).ctimeMs) ?? 0;
  return readRecord(place) === null && Date.now() - made < CLAIM_MS;
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
