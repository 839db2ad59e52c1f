import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isObject, parseJson } from '../../../core/json.ts';
import { isCount, readIdentity, type SaveIdentity } from '../../../seal/manifest.ts';
import { isDead, isSeenAlive } from '../../../store/disk/process-identity.ts';
import { makeFolders } from '../../../core/make-folders.ts';
import { readText } from '../../../core/read-text.ts';
import { whyNotOurs } from './stage-folder.ts';

/** One save in memory. */
export interface Image extends SaveIdentity {
  /** Its private folder. */
  readonly folder: string;
  /** The folder that the ranks write into. */
  readonly data: string;
  /** The number of ranks that write here; other nodes write the rest of the world. */
  readonly ranks: number;
  /** The run's folder, and the mount namespace in which that path is valid. */
  readonly dir: string;
  readonly mounts: string | null;
}

const SCHEMA = 'holdfast.image/1';
const DATA = 'data';
const FACTS = 'image.json';
const MOST_FACTS_BYTES = 16 * 1024;
/** Stands before the owning process in the name of a marker file. */
export const OWNER = 'owner-';
const HANDED_OVER = 'handed-over-';
/** The prefix of folders that are being deleted; no process looks into them. */
const GONE = 'gone-';

/** What is recorded about a save in memory beside its identity. */
export interface ImageFacts {
  readonly ranks: number;
  /** This process, as the owner of what it creates. */
  readonly owner: string | null;
  /** The run's folder. */
  readonly dir: string;
}

/** Makes the folder of a save. The stage folder must exist. */
export function makeImage(stage: string, identity: SaveIdentity, { ranks, owner, dir }: ImageFacts): Image {
  const folder = join(stage, `${identity.attempt}-${identity.save}`);
  const data = join(folder, DATA);
  const { run, attempt, save, step, worldSize } = identity;
  // Another process that tidies up may just have removed the run's empty folder.
  makeFolders(folder, 0o700);
  if (owner !== null) writeFileSync(join(folder, `${OWNER}${owner}`), '');
  const home = { dir, mounts: ownMounts() };
  writeFileSync(join(folder, FACTS), `${JSON.stringify({ schema: SCHEMA, run, attempt, save, step, worldSize, ranks, ...home })}\n`);
  mkdirSync(data);
  return { run, attempt, save, step, worldSize, ranks, dir, mounts: home.mounts, folder, data };
}

/** Identifies the file systems that this process sees; null when that cannot be read. */
function ownMounts(): string | null {
  try {
    return readlinkSync('/proc/self/ns/mnt');
  } catch {
    return null;
  }
}

/**
 * Returns true when the image is certain to be useless: its run's folder is gone as seen from here,
 * and its owners are dead.
 */
export function isOrphaned({ folder, dir, mounts }: Image, self: string | null): boolean {
  if (mounts === null || mounts !== ownMounts() || existsSync(dir)) return false;
  const owners = readdirSync(folder).filter((name) => name.startsWith(OWNER));
  return owners.length > 0 && owners.every((name) => isDead(name.slice(OWNER.length), self));
}

/**
 * The file that a rank creates when it has written its part. From then on the save can be sealed,
 * even if every process dies.
 */
export function markOf({ folder }: Image, rank: number): string {
  return join(folder, `${HANDED_OVER}${rank}`);
}

/** True when the rank has left its mark. */
export function hasHandedOver(image: Image, rank: number): boolean {
  return existsSync(markOf(image, rank));
}

/** Returns true when every rank that wrote here has handed over. */
export function isWhole({ folder, ranks }: Image): boolean {
  return readdirSync(folder).filter((name) => name.startsWith(HANDED_OVER)).length >= ranks;
}

/** Returns true when the supervisor that owns the save is known to be alive. */
export function hasOwner({ folder }: Image, self: string | null): boolean {
  return readdirSync(folder).some((name) => name.startsWith(OWNER) && isSeenAlive(name.slice(OWNER.length), self));
}

/**
 * Lists the stage of a run; an entry that cannot be read is listed with null. Its contents are read
 * as hostile input.
 */
export function readImages(stage: string): readonly { readonly folder: string; readonly image: Image | null }[] {
  if (!existsSync(stage) || whyNotOurs(stage) !== null) return [];
  return readdirSync(stage).map((name) => {
    const folder = join(stage, name);
    return { folder, image: name.startsWith(GONE) ? null : readImage(folder) };
  });
}

function readImage(folder: string): Image | null {
  try {
    const file = join(folder, FACTS);
    const stat = lstatSync(file);
    if (!stat.isFile() || stat.size > MOST_FACTS_BYTES) return null;
    const json = parseJson(readText(file));
    if (!json.ok || !isObject(json.value) || json.value['schema'] !== SCHEMA) return null;
    const identity = readIdentity(json.value);
    const { ranks, dir, mounts } = json.value;
    if ('reason' in identity || !isCount(ranks) || ranks < 1 || typeof dir !== 'string') return null;
    return { ...identity, ranks, dir, mounts: typeof mounts === 'string' ? mounts : null, folder, data: join(folder, DATA) };
  } catch {
    return null;
  }
}

/**
 * Claims an image in one step, so that other processes find it gone. Null when another process was
 * first.
 */
export function claimImage(image: Image, attempt: number): Image | null {
  const name = basename(image.folder).replace(/^claimed-\d+-/, '');
  const folder = join(dirname(image.folder), `claimed-${attempt}-${name}`);
  try {
    renameSync(image.folder, folder);
    return { ...image, folder, data: join(folder, DATA) };
  } catch {
    return null;
  }
}

/**
 * Frees an image: it is renamed out of sight in one step and then deleted, so that no process finds
 * half of it. Never fails.
 */
export async function dropImage(folder: string): Promise<void> {
  const name = basename(folder);
  const gone = name.startsWith(GONE) ? folder : join(dirname(folder), `${GONE}${name}`);
  try {
    if (gone !== folder) renameSync(folder, gone);
    await rm(gone, { recursive: true, force: true });
    // The run's folder is removed with its last image.
    rmdirSync(dirname(folder));
  } catch {
    // The folder is gone already, or holds other images, or the next attempt removes it.
  }
}
