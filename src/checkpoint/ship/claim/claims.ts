import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../core/clock.ts';
import { readRegularFile } from '../../../core/read-regular.ts';
import { isCode, isNotOurs } from '../../store/store-error.ts';
import { BEAT_MS, formatOwner, isGone, type Owner, parseOwner, thisProcess } from './owner.ts';

/** The right to do something that two processes must not do at once. */
export interface Claim {
  release(): void;
}

export interface Claims {
  /** Waits until nobody else holds it; `onWait` is told again and again who does. */
  take(what: string, onWait?: (owner: Owner | null) => void): Promise<Claim>;
  /** Null when somebody holds it who is not gone. */
  tryTake(what: string): Claim | null;
}

export interface ClaimsOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Who cannot take a claim gets the error, and not the claim: for what must not be done twice. */
  readonly isStrict?: boolean;
}

const POLL_MS = 500;
const MAX_TRIES = 5;
const OWNER_FILE = 'owner.json';
const MAX_OWNER_BYTES = 64 * 1024;
/** The owner that a file names which cannot be read: only its age tells. */
const NOBODY: Owner = { id: '', pid: 0, process: null };
/** Prepared, and moved out of the way; neither is a claim. */
const [CANDIDATE, GONE] = ['candidate-', 'gone-'];

/**
 * Claims lie in a folder of their own as folders with a file that names the owner. A claim is taken by renaming a prepared folder to its name,
 * which fails while another one is there: no system call beyond that is needed, so that it works on network file systems too. The claim of an owner
 * that is gone is renamed away first. On a volume that cannot be written everybody has every claim: what they protect is done twice at worst;
 * who cannot bear that asks for strict ones.
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

/** A folder that names us, not yet under the name of a claim. */
function prepare(folder: string): Candidate {
  const owner = thisProcess(randomUUID());
  const path = join(folder, `${CANDIDATE}${owner.id}`);
  for (let tries = 1; ; tries++) {
    try {
      // Only this folder: the run's own is made as a whole, by others.
      makeFolder(folder);
      mkdirSync(path);
      const file = writeOwner(join(path, OWNER_FILE), owner);
      return { owner, path, file, discard: () => (closeSync(file), remove(path)) };
    } catch (thrown) {
      remove(path);
      // Another who was done has removed the folder in between.
      if (!isCode(thrown, 'ENOENT') || tries === MAX_TRIES) throw thrown;
    }
  }
}

/** The file that names us, open: whoever holds a claim shows by it that it lives. */
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

/** False when another is there. */
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

/** Who holds a claim, and whether it is gone by now. A file that names nobody is judged by its age alone; without a file it is no claim. */
function readHolder(path: string, { owner: here, file }: Candidate): Holder {
  // A sign of our own, to compare theirs with.
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

/** Writes what is there already: what changes is the time, by the clock of whoever keeps the file. */
function beat(file: number, owner: Owner): void {
  writeSync(file, formatOwner(owner), 0);
}

/** Moves a claim away when it is still the one that was looked at. */
function moveOut(path: string, id: string | null): void {
  const away = join(path, '..', `${GONE}${randomUUID()}`);
  try {
    renameSync(path, away);
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return;
    throw thrown;
  }
  // In between it may have been released and taken by another, who gets it back.
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
  // Ends with the release, or with a volume that became unwritable.
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
        // The folder is not empty; or whoever comes next sees that the owner is gone.
      }
    },
  };
}

/** Removes what processes left that were killed between two of the steps above, and the folder when nothing else is in it. */
function sweep(folder: string, here: Owner): void {
  // By the clock of whoever keeps the folder: our claim was moved in it a moment ago.
  const now = statSync(folder).mtimeMs;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(CANDIDATE) && !name.startsWith(GONE)) continue;
    const path = join(folder, name);
    const owner = parseOwner(readIfThere(join(path, OWNER_FILE)));
    // One that names nobody was left half-made or half-removed: only its age tells.
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

/** Something else in its place names nobody. */
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
    // Removed by the next one.
  }
}
