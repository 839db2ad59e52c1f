import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { endHolder, killHolder } from './box.ts';
import { tryRemoveCgroup } from './cgroups.ts';
import { unlessGone } from './gone.ts';
import { type ProcessIdentity, identify, isThere } from './process-start.ts';
import { type Nearness, nearnessOf, realmHere } from './realm.ts';
import { type ClusterPlace, type ClusterRecord, clusterPlaces, clustersFolder, readRecord, writeRecord } from './record.ts';
import { eventually } from './wait.ts';

const CGROUP_PREFIX = 'holdfast-cluster-';
/** Far longer than writing a record takes. */
const CLAIM_MS = 60_000;
/**
 * How long a process that is about to end waits for the end of its clusters. The kernel needs a
 * second for a large one.
 */
const [END_MS, END_TURN_MS] = [30_000, 50];

/** What a later process must know about a cluster. */
interface Claim {
  /** Whether the cluster outlives this process once it is ready. */
  readonly isKept: boolean;
  /** How many inotify instances it will take. */
  readonly inotify?: number;
}

export function cgroupOf(id: string): string {
  return `${CGROUP_PREFIX}${id}`;
}

/** Makes a new cluster's folder with its record. */
export function claimPlace(claim: Claim): ClusterPlace {
  const id = randomBytes(4).toString('hex');
  const folder = join(clustersFolder(), id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [owner, realm] = [identify(process.pid), realmHere()];
  writeRecord({ id, folder }, { ...claim, owner, holder: null, isSettled: false, realm, claimedAt: Date.now() });
  return { id, folder };
}

/** Records which process holds the namespaces, once they exist. */
export function recordHolder(place: ClusterPlace, holder: ProcessIdentity): void {
  changeRecord(place, { holder });
}

/**
 * Records that the cluster is complete. Until then it is removed with its owner, even if it is to
 * be kept.
 */
export function settle(place: ClusterPlace): void {
  changeRecord(place, { isSettled: true });
}

/**
 * Ends all processes of a cluster and removes what the kernel does not: its cgroups and its folder.
 */
export async function removeCluster(place: ClusterPlace): Promise<void> {
  const record = readRecord(place);
  if (record?.holder != null && nearness(record) === 'here') await endHolder(record.holder);
  // The kernel may need a moment to end the processes.
  await eventually(`the cgroups of ${place.id} to be empty`, () => (tryRemoveCgroup(cgroupOf(place.id)) ? true : null));
  rmSync(place.folder, { recursive: true, force: true });
}

/** Removes the clusters of killed sessions. Clusters that are in use or kept stay. */
export async function removeLeftovers(): Promise<string[]> {
  const places = clusterPlaces().filter((place) => isLeftOver(readRecord(place)) && !isJustClaimed(place));
  for (const place of places) await removeCluster(place);
  return places.map(({ id }) => id);
}

/**
 * Removes the clusters that this process has made and does not keep, without yielding: for a
 * process that is about to end. A cluster that is still there after the time limit keeps its
 * record, so the next start removes it.
 */
export function removeOwnAtOnce(patienceMs = END_MS): void {
  for (const place of ownClusters()) {
    const record = readRecord(place);
    if (record === null || record.isKept) continue;
    const left = record.holder === null ? [] : killHolder(record.holder);
    const isGone = (): boolean => !left.some(isThere) && tryRemoveCgroup(cgroupOf(place.id));
    for (let waitedMs = 0; waitedMs < patienceMs && !isGone(); waitedMs += END_TURN_MS) pause(END_TURN_MS);
    if (isGone()) rmSync(place.folder, { recursive: true, force: true });
  }
}

/** Nothing else happens in this process meanwhile. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** What this process has claimed and not given back. */
export function ownClusters(): ClusterPlace[] {
  const self = identify(process.pid);
  return clusterPlaces().filter((place) => {
    const record = readRecord(place);
    return record !== null && nearness(record) === 'here' && record.owner.pid === self.pid && record.owner.start === self.start;
  });
}

/** The clusters that outlive their maker, finished or still being made. */
export function keptClusters(): ClusterPlace[] {
  return clusterPlaces().filter((place) => {
    const record = readRecord(place);
    return record !== null && record.isKept && nearness(record) === 'here' && !isLeftOver(record);
  });
}

/**
 * Clusters of other containers or machines with the same cache. Whether they are in use cannot be
 * seen from here.
 */
export function clustersElsewhere(): ClusterPlace[] {
  return clusterPlaces().filter((place) => {
    const record = readRecord(place);
    return record !== null && nearness(record) === 'elsewhere';
  });
}

/**
 * How many inotify instances are reserved for clusters that were claimed before this one and are
 * still starting.
 */
export function promisedInotify(place: ClusterPlace): number {
  const own = readRecord(place)?.claimedAt ?? 0;
  const isBefore = ({ id, claimedAt }: { readonly id: string; readonly claimedAt: number }): boolean =>
    claimedAt < own || (claimedAt === own && id < place.id);
  return clusterPlaces()
    .map(({ id, folder }) => ({ id, record: readRecord({ id, folder }) }))
    .filter(({ record }) => record?.isSettled === false && nearness(record) === 'here' && isThere(record.owner))
    .filter(({ id, record }) => isBefore({ id, claimedAt: record?.claimedAt ?? 0 }))
    .reduce((sum, { record }) => sum + (record?.inotify ?? 0), 0);
}

function isLeftOver(record: ClusterRecord | null): boolean {
  if (record === null) return true;
  const near = nearness(record);
  if (near !== 'here') return near === 'past';
  if (isThere(record.owner)) return false;
  return !record.isKept || record.isSettled === false || record.holder === null || !isThere(record.holder);
}

function nearness({ realm }: ClusterRecord): Nearness {
  return nearnessOf(realm, realmHere());
}

/** Whether another process is just starting a cluster and has not written its record yet. */
function isJustClaimed(place: ClusterPlace): boolean {
  const made = unlessGone(() => statSync(place.folder).ctimeMs) ?? 0;
  return readRecord(place) === null && Date.now() - made < CLAIM_MS;
}

/** Only the owner changes its record. */
function changeRecord(place: ClusterPlace, change: Partial<ClusterRecord>): void {
  const record = readRecord(place);
  if (record === null) throw new Error(`${place.folder} was taken down by somebody else`);
  writeRecord(place, { ...record, ...change });
}
