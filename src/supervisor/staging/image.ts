import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isObject, parseJson } from '../../checkpoint/json.ts';
import { isCount, readIdentity, type SaveIdentity } from '../../checkpoint/store/manifest.ts';
import { isDead, isSeenAlive } from '../../checkpoint/store/process-identity.ts';
import { makeFolders } from '../../core/make-folders.ts';
import { readText } from '../../core/read-text.ts';
import { whyNotOurs } from './stage-folder.ts';

/** One save in memory. */
export interface Image extends SaveIdentity {
  /** Its private folder. */
  readonly folder: string;
  /** Where the ranks write. */
  readonly data: string;
  /** How many ranks write here: fewer than the world has where others write on other nodes. */
  readonly ranks: number;
  /** The run's folder, and where that path means it. */
  readonly dir: string;
  readonly mounts: string | null;
}

const SCHEMA = 'holdfast.image/1';
const DATA = 'data';
const FACTS = 'image.json';
const MOST_FACTS_BYTES = 16 * 1024;
/** In front of the process that something belongs to, in the name of a file beside it. */
export const OWNER = 'owner-';
const HANDED_OVER = 'handed-over-';
/** What is on its way out: nobody looks into it. */
const GONE = 'gone-';

export interface ImageFacts {
  readonly ranks: number;
  /** This process, as a mark on what it has begun. */
  readonly owner: string | null;
  /** The run's folder. */
  readonly dir: string;
}

/** Makes the folder of a save; the stage is there. */
export function makeImage(stage: string, identity: SaveIdentity, { ranks, owner, dir }: ImageFacts): Image {
  const folder = join(stage, `${identity.attempt}-${identity.save}`);
  const data = join(folder, DATA);
  const { run, attempt, save, step, worldSize } = identity;
  // Whoever tidies up may have taken the empty folder of the run away a moment ago.
  makeFolders(folder, 0o700);
  if (owner !== null) writeFileSync(join(folder, `${OWNER}${owner}`), '');
  const home = { dir, mounts: ownMounts() };
  writeFileSync(join(folder, FACTS), `${JSON.stringify({ schema: SCHEMA, run, attempt, save, step, worldSize, ranks, ...home })}\n`);
  mkdirSync(data);
  return { run, attempt, save, step, worldSize, ranks, dir, mounts: home.mounts, folder, data };
}

/** Which file systems this process sees; null where nobody can tell. */
function ownMounts(): string | null {
  try {
    return readlinkSync('/proc/self/ns/mnt');
  } catch {
    return null;
  }
}

/** True when it is certain that nobody will ever ask for it: its run's folder is gone, for whoever sees what we see, and its owners are dead. */
export function isOrphaned({ folder, dir, mounts }: Image, self: string | null): boolean {
  if (mounts === null || mounts !== ownMounts() || existsSync(dir)) return false;
  const owners = readdirSync(folder).filter((name) => name.startsWith(OWNER));
  return owners.length > 0 && owners.every((name) => isDead(name.slice(OWNER.length), self));
}

/** The file that a rank makes when it has written its part: from then on the save can be sealed, whoever has died meanwhile. */
export function markOf({ folder }: Image, rank: number): string {
  return join(folder, `${HANDED_OVER}${rank}`);
}

export function hasHandedOver(image: Image, rank: number): boolean {
  return existsSync(markOf(image, rank));
}

/** True when every rank that wrote here has handed over. */
export function isWhole({ folder, ranks }: Image): boolean {
  return readdirSync(folder).filter((name) => name.startsWith(HANDED_OVER)).length >= ranks;
}

/** True when the supervisor that the save belongs to can be seen to live. */
export function hasOwner({ folder }: Image, self: string | null): boolean {
  return readdirSync(folder).some((name) => name.startsWith(OWNER) && isSeenAlive(name.slice(OWNER.length), self));
}

/** What lies in the stage of a run; what cannot be read is told as null beside its name. Nothing there that is not ours is believed. */
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

/** Takes an image for oneself in one step: whoever else looks at it finds it gone. Null when another was first. */
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

/** Lets an image go: out of sight in one step, then its bytes, so that nobody ever finds half of it. Never fails. */
export async function dropImage(folder: string): Promise<void> {
  const name = basename(folder);
  const gone = name.startsWith(GONE) ? folder : join(dirname(folder), `${GONE}${name}`);
  try {
    if (gone !== folder) renameSync(folder, gone);
    await rm(gone, { recursive: true, force: true });
    // The run's folder goes with its last image.
    rmdirSync(dirname(folder));
  } catch {
    // Gone already, or others lie beside it, or it goes when the next life looks.
  }
}
