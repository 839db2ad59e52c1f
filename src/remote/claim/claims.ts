import { createHash, randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { join, relative } from 'node:path';
import { throughFolder } from '../../core/beneath.ts';
import type { Clock } from '../../core/clock.ts';
import { removeQuietly } from '../../store/disk/delete-tree.ts';
import { type DurableFs, fsBeneath } from '../../store/disk/durable-fs.ts';
import { isCode, isNotOurs } from '../../store/disk/store-error.ts';
import { BEAT_MS, formatOwner, isGone, type Owner, parseOwner, thisProcess } from './owner.ts';

/** The right to do something that two processes must not do at once. */
export interface Claim {
  release(): void;
}

/** The claims of one folder, as one process takes them. */
export interface Claims {
  /**
   * Waits until the claim is free. While it waits, it reports the owner to `onWait` again and
   * again.
   */
  take(what: string, onWait?: (owner: Owner | null) => void): Promise<Claim>;
  /** Takes the claim without waiting; null while a live process holds it. */
  tryTake(what: string): Claim | null;
}

/** What claims need from the process that takes them. */
export interface ClaimsOptions {
  /** The folder that the user named. Claims lie below it, and no link below it is followed. */
  readonly root: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Throw when the claim cannot be taken. Strict claims protect work that must never be done twice.
   */
  readonly isStrict?: boolean;
}

const POLL_MS = 500;
const MAX_TRIES = 5;
const OWNER_FILE = 'owner.json';
const MAX_OWNER_BYTES = 64 * 1024;
/** Stands for an owner whose file cannot be read. Only the file's age says whether it is gone. */
const NOBODY: Owner = { id: '', pid: 0, process: null };
/** Names of prepared folders, and of folders moved out of the way; neither is a claim. */
const [CANDIDATE, GONE] = ['candidate-', 'gone-'];

/**
 * Opens the claims of a folder. Each claim is a folder with a file that names its owner. A process
 * takes a claim by renaming a prepared folder to its name, which fails while another claim is
 * there. This needs no other system call, so it also works on network file systems. The claim of a
 * dead owner is renamed away first. On a volume that cannot be written, every process gets every
 * claim. The protected work is then done twice at worst; a caller that cannot accept this asks for
 * strict claims.
 */
export function openClaims(folder: string, options: ClaimsOptions): Claims {
  const place = { folder, root: options.root, fs: fsBeneath(options.root), clock: options.clock };
  const tryTake = (what: string): Tried => {
    try {
      return compete(place, what);
    } catch (thrown) {
      if (options.isStrict === true) throw thrown;
      return { claim: { release() {} } };
    }
  };
  return {
    tryTake(what) {
      const tried = tryTake(what);
      return 'claim' in tried ? tried.claim : null;
    },
    async take(what, onWait) {
      for (;;) {
        options.signal.throwIfAborted();
        const tried = tryTake(what);
        if ('claim' in tried) return tried.claim;
        onWait?.(tried.heldBy);
        await options.clock.sleep(POLL_MS, { signal: options.signal });
      }
    },
  };
}

/** Where claims lie, and how they are reached. */
interface Place {
  readonly folder: string;
  readonly root: string;
  readonly fs: DurableFs;
  readonly clock: Clock;
}

type Tried = { readonly claim: Claim } | { readonly heldBy: Owner | null };

function compete(place: Place, what: string): Tried {
  const { fs } = place;
  const path = join(place.folder, `claim-${createHash('sha256').update(what).digest('hex').slice(0, 40)}`);
  const candidate = prepare(place);
  try {
    for (;;) {
      if (moved(fs, candidate.path, path)) return { claim: hold(place, candidate, path) };
      const holder = readHolder(fs, path, candidate);
      if (!holder.isGone) {
        candidate.discard();
        return { heldBy: holder.owner };
      }
      moveOut(fs, path, holder.owner?.id ?? null);
    }
  } catch (thrown) {
    candidate.discard();
    throw thrown;
  }
}

interface Candidate {
  readonly owner: Owner;
  readonly path: string;
  readonly file: number;
  discard(): void;
}

/** Prepares a folder that names this process, not yet under the name of a claim. */
function prepare(place: Place): Candidate {
  const { fs, folder } = place;
  const owner = thisProcess(randomUUID());
  const path = join(folder, `${CANDIDATE}${owner.id}`);
  for (let tries = 1; ; tries++) {
    try {
      // Make only this folder: other code makes the run's own folder, as a whole.
      makeFolder(fs, folder);
      fs.mkdir(path);
      const file = writeOwner(place, join(path, OWNER_FILE), owner);
      return { owner, path, file, discard: () => (closeSync(file), removeQuietly(fs, path)) };
    } catch (thrown) {
      removeQuietly(fs, path);
      // Another process that was done has removed the folder in between.
      if (!isCode(thrown, 'ENOENT') || tries === MAX_TRIES) throw thrown;
    }
  }
}

/** Writes the file that names this process and keeps it open, to write heartbeats into. */
function writeOwner({ root }: Place, path: string, owner: Owner): number {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const file = throughFolder(root, relative(root, path), (real) => openSync(real, flags, 0o600));
  try {
    writeSync(file, formatOwner(owner), 0);
    return file;
  } catch (thrown) {
    closeSync(file);
    throw thrown;
  }
}

function makeFolder(fs: DurableFs, folder: string): void {
  try {
    fs.mkdir(folder);
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}

/** Renames a folder; false when the new name is taken. */
function moved(fs: DurableFs, from: string, to: string): boolean {
  try {
    fs.rename(from, to);
    return true;
  } catch (thrown) {
    if (isCode(thrown, 'ENOTEMPTY', 'EEXIST')) return false;
    throw thrown;
  }
}

interface Holder {
  readonly owner: Owner | null;
  readonly isGone: boolean;
}

/**
 * Reads the owner of a claim and decides whether it is gone. An unreadable owner file is judged by
 * its age alone, and a folder without one is no claim.
 */
function readHolder(fs: DurableFs, path: string, { owner: here, file }: Candidate): Holder {
  // A heartbeat of our own, to compare theirs with.
  beat(file, here);
  const ours = fstatSync(file).mtimeMs;
  try {
    const owner = parseOwner(readOwner(fs, join(path, OWNER_FILE)));
    const seen = fs.stat(join(path, OWNER_FILE));
    if (seen === null) return { owner: null, isGone: true };
    return { owner, isGone: isGone(owner ?? NOBODY, ours - seen.mtimeMs, here) };
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return { owner: null, isGone: true };
    throw thrown;
  }
}

/** Writes the same bytes again. Only the time changes, by the clock of the file server. */
function beat(file: number, owner: Owner): void {
  writeSync(file, formatOwner(owner), 0);
}

/** Moves a claim away if it is still the one that the caller looked at. */
function moveOut(fs: DurableFs, path: string, id: string | null): void {
  const away = join(path, '..', `${GONE}${randomUUID()}`);
  try {
    fs.rename(path, away);
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return;
    throw thrown;
  }
  // Another process may have taken the claim in between. It gets its claim back.
  if ((parseOwner(readIfThere(fs, join(away, OWNER_FILE)))?.id ?? null) !== id) moved(fs, away, path);
  removeQuietly(fs, away);
}

function hold({ fs, folder, clock }: Place, { owner, file }: Candidate, path: string): Claim {
  const released = new AbortController();
  const beating = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(BEAT_MS, { signal: released.signal });
      beat(file, owner);
    }
  };
  // The heartbeat ends with the release, or when the volume becomes unwritable.
  beating().catch(() => {});
  return {
    release() {
      if (released.signal.aborted) return;
      released.abort();
      try {
        closeSync(file);
        moveOut(fs, path, owner.id);
        sweep(fs, folder, owner);
      } catch {
        // The folder is not empty, or the next taker sees that the owner is gone.
      }
    },
  };
}

/**
 * Removes the leftovers of processes killed between two of these steps. Removes the folder, too,
 * when it is empty.
 */
function sweep(fs: DurableFs, folder: string, here: Owner): void {
  // This time comes from the file server's clock: our claim was moved here a moment ago.
  const now = changedAt(fs, folder);
  for (const name of fs.list(folder)) {
    if (!name.startsWith(CANDIDATE) && !name.startsWith(GONE)) continue;
    const path = join(folder, name);
    const owner = parseOwner(readIfThere(fs, join(path, OWNER_FILE)));
    // A folder without an owner was left half-made or half-removed. Only its age counts.
    if (isGone(owner ?? NOBODY, owner === null ? now - changedAt(fs, path) : 0, here)) removeQuietly(fs, path);
  }
  fs.rmdir(folder);
}

/** Another process may have removed it meanwhile: then it is as old as can be. */
function changedAt(fs: DurableFs, path: string): number {
  return fs.stat(path)?.mtimeMs ?? 0;
}

function readIfThere(fs: DurableFs, file: string): string {
  try {
    return readOwner(fs, file);
  } catch {
    return '';
  }
}

/** Something else in its place, or far too much, names no owner. */
function readOwner(fs: DurableFs, file: string): string {
  try {
    if ((fs.stat(file)?.size ?? 0) > MAX_OWNER_BYTES) return '';
    return fs.readFile(file).toString('utf8');
  } catch (thrown) {
    if (isNotOurs(thrown)) return '';
    throw thrown;
  }
}
