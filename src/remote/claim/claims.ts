import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { readRegularFile } from '../../core/read-regular.ts';
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
  const tryTake = (what: string): Tried => {
    try {
      return compete(folder, what, options);
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

type Tried = { readonly claim: Claim } | { readonly heldBy: Owner | null };

function compete(folder: string, what: string, options: ClaimsOptions): Tried {
  const path = join(folder, `claim-${createHash('sha256').update(what).digest('hex').slice(0, 40)}`);
  const candidate = prepare(folder);
  try {
    for (;;) {
      if (moved(candidate.path, path)) return { claim: hold(candidate, path, options) };
      const holder = readHolder(path, candidate);
      if (!holder.isGone) {
        candidate.discard();
        return { heldBy: holder.owner };
      }
      moveOut(path, holder.owner?.id ?? null);
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
function prepare(folder: string): Candidate {
  const owner = thisProcess(randomUUID());
  const path = join(folder, `${CANDIDATE}${owner.id}`);
  for (let tries = 1; ; tries++) {
    try {
      // Make only this folder: other code makes the run's own folder, as a whole.
      makeFolder(folder);
      mkdirSync(path);
      const file = writeOwner(join(path, OWNER_FILE), owner);
      return { owner, path, file, discard: () => (closeSync(file), remove(path)) };
    } catch (thrown) {
      remove(path);
      // Another process that was done has removed the folder in between.
      if (!isCode(thrown, 'ENOENT') || tries === MAX_TRIES) throw thrown;
    }
  }
}

/** Writes the file that names this process and keeps it open, to write heartbeats into. */
function writeOwner(path: string, owner: Owner): number {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, formatOwner(owner), 0);
    return file;
  } catch (thrown) {
    closeSync(file);
    throw thrown;
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}

/** Renames a folder; false when the new name is taken. */
function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to);
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
function readHolder(path: string, { owner: here, file }: Candidate): Holder {
  // A heartbeat of our own, to compare theirs with.
  beat(file, here);
  const ours = fstatSync(file).mtimeMs;
  try {
    const owner = parseOwner(readOwner(join(path, OWNER_FILE)));
    const silent = ours - statSync(join(path, OWNER_FILE)).mtimeMs;
    return { owner, isGone: isGone(owner ?? NOBODY, silent, here) };
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
function moveOut(path: string, id: string | null): void {
  const away = join(path, '..', `${GONE}${randomUUID()}`);
  try {
    renameSync(path, away);
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return;
    throw thrown;
  }
  // Another process may have taken the claim in between. It gets its claim back.
  if ((parseOwner(readIfThere(join(away, OWNER_FILE)))?.id ?? null) !== id) moved(away, path);
  remove(away);
}

function hold({ owner, file }: Candidate, path: string, { clock }: ClaimsOptions): Claim {
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
        moveOut(path, owner.id);
        sweep(join(path, '..'), owner);
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
function sweep(folder: string, here: Owner): void {
  // This time comes from the file server's clock: our claim was moved here a moment ago.
  const now = statSync(folder).mtimeMs;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(CANDIDATE) && !name.startsWith(GONE)) continue;
    const path = join(folder, name);
    const owner = parseOwner(readIfThere(join(path, OWNER_FILE)));
    // A folder without an owner was left half-made or half-removed. Only its age counts.
    if (isGone(owner ?? NOBODY, owner === null ? now - statSync(path).mtimeMs : 0, here)) remove(path);
  }
  rmdirSync(folder);
}

function readIfThere(file: string): string {
  try {
    return readOwner(file);
  } catch {
    return '';
  }
}

/** Something else in its place names no owner. */
function readOwner(file: string): string {
  try {
    return readRegularFile(file, MAX_OWNER_BYTES).toString('utf8');
  } catch (thrown) {
    if (isNotOurs(thrown)) return '';
    throw thrown;
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The next sweep removes it.
  }
}
