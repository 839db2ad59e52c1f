import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, realpathSync, rmdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError, systemCode } from '../../../core/errors.ts';
import type { StageWish } from '../../settings/run-options.ts';
import { printable } from '../../../core/printable.ts';

/** The folder in memory for the saves of one run. */
export interface StageFolder {
  /** The file system in memory. */
  readonly parent: string;
  /** This run's own folder in it, made when it is needed. */
  readonly path: string;
  /** Other programs use the file system too, and they fail when it is full. */
  readonly isShared: boolean;
}

const TMPFS = 0x0102_1994;
const RAMFS = 0x8584_58f6;
const SHARED_MEMORY = '/dev/shm';
const PREFIX = 'holdfast-';
/** The default size of shared memory in a pod; data loaders need all of it. */
const POD_SHARED_BYTES = 64 * 1024 * 1024;

/**
 * Finds the stage folder for the wish; null: there is none, or staging is off. Throws for a named
 * place that cannot be used.
 */
export function findStageFolder(wish: StageWish, run: { readonly run: string; readonly path: string }): StageFolder | null {
  if (wish.kind === 'off') return null;
  assertStageWish(wish);
  if (wish.kind === 'folder') return folderIn(wish.path, run, false);
  if (whyNoMemory(SHARED_MEMORY) !== null) return null;
  const { blocks, bsize } = statfsSync(SHARED_MEMORY);
  return blocks * bsize <= POD_SHARED_BYTES ? null : folderIn(SHARED_MEMORY, run, true);
}

/** Refuses a named place that cannot be used. */
export function assertStageWish(wish: StageWish): void {
  const problem = wish.kind === 'folder' ? whyNoMemory(wish.path) : null;
  if (wish.kind === 'folder' && problem !== null) throw unusable(wish, problem);
}

/** Named after the run and its folder, because a copy of the folder is another run here. */
function folderIn(parent: string, { run, path }: { readonly run: string; readonly path: string }, isShared: boolean): StageFolder {
  const name = createHash('sha256')
    .update(`${run}\0${realpathSync(path)}`)
    .digest('hex')
    .slice(0, 24);
  return { parent, path: join(parent, `${PREFIX}${name}`), isShared };
}

/** The folders of other runs beside this one's. */
export function otherStages({ parent, path }: StageFolder): readonly string[] {
  const names = readdirSync(parent).filter((name) => name.startsWith(PREFIX) && /^[0-9a-f]{24}$/.test(name.slice(PREFIX.length)));
  return names.map((name) => join(parent, name)).filter((other) => other !== path);
}

/** The stage must be empty after a restart of the machine, because nothing in it is ever synced. */
function whyNoMemory(path: string): string | null {
  try {
    if (!statSync(path).isDirectory()) return 'is not a folder';
    const { type } = statfsSync(path);
    return type === TMPFS || type === RAMFS ? null : 'does not lie in memory (tmpfs)';
  } catch (thrown) {
    return `cannot be used: ${systemCode(thrown) ?? String(thrown)}`;
  }
}

/**
 * Makes the run's folder, which only this user may enter. Any user may create names in shared
 * memory, so an existing folder is checked.
 */
export function makeStageFolder({ path }: StageFolder): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (systemCode(thrown) !== 'EEXIST') throw thrown;
  }
  const problem = whyNotOurs(path);
  if (problem !== null)
    throw new HoldfastError('STORE_NOT_WRITABLE', {
      message: `${printable(path)} ${problem}`,
      hint: 'Remove it, or stage elsewhere with --stage=FOLDER.',
    });
}

/** Null when only this user can have filled the folder, and the reason otherwise. */
export function whyNotOurs(path: string): string | null {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return 'is not a folder';
  if (stat.uid !== process.geteuid?.()) return 'belongs to another user';
  return (stat.mode & 0o077) === 0 ? null : 'can be entered by others';
}

/** Removes the folder when it is empty. */
export function dropStageFolder({ path }: StageFolder): void {
  try {
    rmdirSync(path);
  } catch {
    // The folder holds something that the next attempt will handle, or it was never made.
  }
}

function unusable({ path, from }: { readonly path: string; readonly from: 'option' | 'environment' }, problem: string): HoldfastError {
  const message = `${printable(path)} ${problem}`;
  const hint = 'Name a folder in memory, such as a mounted emptyDir with medium: Memory, or off.';
  if (from === 'option') return new HoldfastError('USAGE', { message: `option --stage: ${message}`, hint });
  return new HoldfastError('SETTING_INVALID', { message: `HOLDFAST_STAGE: ${message}`, hint });
}
