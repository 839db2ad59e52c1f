import { dirname, join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { isObject, type JsonObject, parseJson } from '../../core/json.ts';
import type { DurableFs } from '../disk/durable-fs.ts';
import { rememberSuspicion } from '../folder/last-good-cache.ts';
import { at, STAGED_DATA, STAGED_MANIFEST } from '../../seal/names.ts';
import { readSeals } from '../folder/read-seals.ts';
import { replaceFile } from '../disk/replace-file.ts';
import { type OpenStore, restoreFolders, type Store } from '../folder/store.ts';
import { isCode, isDiskError, isNotOurs, storeError } from '../disk/store-error.ts';

const ATTEMPT_SCHEMA = 'holdfast.attempt/1';

/** One start of the whole gang. Its number is the fencing token. */
export interface Attempt {
  readonly attempt: number;
  readonly gang: string;
}

/** How to start an attempt, or to join it. */
export interface StartOptions {
  /** The id that all nodes and ranks of this attempt share, and no other process uses. */
  readonly gang: string;
  /**
   * The number, when the caller sets it. By default the next one, or the newest attempt's number if
   * that has the same gang.
   */
  readonly attempt?: number;
  /**
   * The longest wait for the predecessor's published deadline. By default the time that was left
   * when it was published.
   */
  readonly maxWaitMs?: number;
  readonly signal?: AbortSignal;
}

/** The longest grace that Holdfast accepts from a file. */
const LONGEST_GRACE_MS = 24 * 3_600_000;
/** The grace of a predecessor that did not publish how much was left. */
const UNTOLD_GRACE_MS = 10 * 60_000;
const POLL_MS = 500;
/** The largest number that still differs from its successor in a double. */
const MAX_ATTEMPT = 999_999_999_999_999;

/**
 * Starts an attempt, or joins it when another process of the same gang has started it.
 *
 * How it fences older attempts: an attempt's folder appears in one step with its staging folder
 * inside. No process ever makes that staging folder again. A newer attempt moves it aside, and then
 * renames, inside it, the parts that each save would rename to their final place. An older attempt
 * then has nothing left to rename. This needs no clock and no check before a rename, and it also
 * stops a rename that was already inside the kernel. The scan sees every earlier commit, because it
 * follows the fencing.
 *
 * An attempt below an existing number is refused here. Both sides first make their folder and then
 * look for the other's, so at least one of them sees the other.
 */
export async function startAttempt(store: OpenStore, options: StartOptions): Promise<Attempt> {
  const { gang } = options;
  if (gang === '' || gang.length > 200) throw usage(`a gang id has 1 to 200 characters, not ${gang.length}`);
  const { attempt: wanted = 0 } = options;
  if (!isAttemptNumber(wanted)) throw usage(`an attempt is a whole number from 0 to ${MAX_ATTEMPT}, not ${wanted}`);
  try {
    const attempt = claimNumber(store, options);
    refuseIfOlder(store, attempt);
    await waitOutDeadlines(store, attempt, options);
    fenceOlder(store, attempt);
    makeSealsDurable(store);
    return { attempt, gang };
  } catch (thrown) {
    throw storeError(thrown, 'start an attempt in', store.path);
  }
}

/** Returns the newest attempt of the run, null when there was none. */
export function newestAttempt(store: Store): Attempt | null {
  const attempt = attemptNumbers(store).at(-1);
  return attempt === undefined ? null : readAttempt(store, attempt);
}

/**
 * Publishes the end of an attempt's grace; null when it is done. A replacement that starts earlier
 * waits until then.
 */
export function publishDeadline(store: OpenStore, { attempt }: Attempt, deadlineMs: number | null): void {
  try {
    // The file also holds the time left: a machine with a different clock must not wait longer than
    // that.
    const leftMs = deadlineMs === null ? 0 : Math.max(0, deadlineMs - store.clock.now());
    replaceFile(store.fs, at.deadlineFile(store.path, attempt), `${JSON.stringify({ deadlineMs, leftMs })}\n`, store.makeId());
  } catch (thrown) {
    throw storeError(thrown, 'publish the deadline in', at.attempt(store.path, attempt));
  }
}

/** Makes the error of a writer whose attempt was replaced. */
export function fencedError(attempt: number, cause?: unknown): HoldfastError {
  return new HoldfastError('ATTEMPT_FENCED', {
    message: `attempt ${attempt} was replaced by a newer one, so it can no longer commit`,
    hint: 'This process belongs to an older attempt and should end. The newer attempt resumes from the last good checkpoint.',
    cause,
  });
}

/**
 * True when a newer attempt has taken the staging folder away. Listing makes a network file system
 * ask its server again; a rename does not.
 */
export function isFenced({ fs, path }: Store, attempt: number): boolean {
  try {
    return !fs.list(at.attempt(path, attempt)).includes('staging');
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return true;
    throw thrown;
  }
}

/** True when a newer attempt has fenced this one; a deleted run's folder does not count. */
export function isReplaced(store: Store, attempt: number): boolean {
  return (attemptNumbers(store).at(-1) ?? -1) > attempt && isFenced(store, attempt);
}

function claimNumber(store: OpenStore, { gang, attempt: wanted }: StartOptions): number {
  for (;;) {
    const numbers = attemptNumbers(store);
    const known = wanted === undefined ? attemptOf(store, gang, numbers) : readAttempt(store, wanted);
    if (known?.gang === gang) {
      // The process that made it may have died before its name was durable.
      store.fs.fsyncFolder(at.store(store.path, 'attempts'));
      return known.attempt;
    }
    if (known !== null) throw taken(known, gang);
    const number = wanted ?? newestNumber(store, numbers) + 1;
    if (!isAttemptNumber(number)) throw usage(`${printable(store.path)} has an attempt ${number - 1}, after which there is no number left`);
    if (createAttempt(store, { attempt: number, gang })) return number;
  }
}

/**
 * Returns the attempt that a gang already has, even an older one: a late rank must be refused, and
 * not start another attempt.
 */
function attemptOf(store: OpenStore, gang: string, numbers: readonly number[]): Attempt | null {
  for (const number of numbers.toReversed()) {
    const known = readAttempt(store, number);
    if (known?.gang === gang) return known;
  }
  return null;
}

/** True for a number that an attempt can have. */
export function isAttemptNumber(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= MAX_ATTEMPT;
}

/**
 * Returns the newest attempt that this folder knows of, 0 when there is none. Manifests count too.
 * A checkpoint that was copied from where the run continued is newer than every attempt started
 * here, and its successor must not count as older.
 */
export function newestNumber(store: OpenStore, numbers: readonly number[] = attemptNumbers(store)): number {
  const { fs, path, run } = store;
  let newest = numbers.at(-1) ?? 0;
  for (const { parsed } of readSeals(fs, path)) {
    if (parsed.ok && parsed.manifest.run === run) newest = Math.max(newest, parsed.manifest.attempt);
  }
  return newest;
}

/** Makes the attempt's folder in one step; false when another process was first. */
export function createAttempt(store: OpenStore, { attempt, gang }: Attempt): boolean {
  const { fs, path, clock, makeId } = store;
  const temporary = at.store(path, 'attempts', `.tmp-${makeId()}`);
  const file = join(temporary, 'attempt.json');
  const staging = join(temporary, 'staging');
  fs.mkdir(temporary);
  fs.mkdir(staging);
  fs.writeFile(file, `${JSON.stringify({ schema: ATTEMPT_SCHEMA, attempt, gang, startedAt: new Date(clock.now()).toISOString() })}\n`);
  fs.fsyncFile(file);
  fs.fsyncFolder(temporary);
  try {
    fs.rename(temporary, at.attempt(path, attempt));
  } catch (thrown) {
    fs.unlink(file);
    fs.rmdir(staging);
    fs.rmdir(temporary);
    if (isCode(thrown, 'ENOTEMPTY', 'EEXIST')) return false;
    throw thrown;
  }
  // The number must never be used twice, also not after a crash.
  fs.fsyncFolder(at.store(path, 'attempts'));
  return true;
}

function refuseIfOlder(store: OpenStore, attempt: number): void {
  if (newestNumber(store) > attempt) throw fencedError(attempt);
}

/** Lists the attempt numbers in ascending order. */
export function attemptNumbers({ fs, path }: Store): readonly number[] {
  try {
    return fs
      .list(at.store(path, 'attempts'))
      .filter((name) => /^(0|[1-9]\d{0,14})$/.test(name))
      .map(Number)
      .sort((a, b) => a - b);
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}

function readAttempt({ fs, path }: Store, attempt: number): Attempt | null {
  const value = readObject(fs, at.attemptFile(path, attempt));
  if (value === null) return null;
  const gang = value['gang'];
  if (value['schema'] === ATTEMPT_SCHEMA && typeof gang === 'string') return { attempt, gang };
  throw new HoldfastError('RUN_DAMAGED', {
    message: `${printable(at.attemptFile(path, attempt))} is not a file of ${ATTEMPT_SCHEMA}`,
    hint: 'Another version of Holdfast made it, or it was damaged. Start the attempt with a higher number (--attempt).',
  });
}

function readObject(fs: DurableFs, file: string): JsonObject | null {
  try {
    const json = parseJson(fs.readFile(file).toString('utf8'));
    return json.ok && isObject(json.value) ? json.value : {};
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return null;
    if (isNotOurs(thrown)) return {};
    throw thrown;
  }
}

/**
 * Waits until no unfenced older attempt has a deadline ahead. Elapsed time bounds the wait, so that
 * a jumping clock cannot hang it.
 */
async function waitOutDeadlines(store: OpenStore, attempt: number, { maxWaitMs = LONGEST_GRACE_MS, signal }: StartOptions): Promise<void> {
  const { clock } = store;
  const started = clock.monotonic();
  for (;;) {
    const waited = clock.monotonic() - started;
    const left = Math.min(longestLeft(store, attempt, waited), maxWaitMs - waited);
    if (!(left > 0)) return;
    await clock.sleep(Math.min(left, POLL_MS), signal === undefined ? {} : { signal });
  }
}

function longestLeft(store: OpenStore, attempt: number, waited: number): number {
  let longest = 0;
  for (const older of attemptNumbers(store)) {
    if (older >= attempt || isFenced(store, older)) continue;
    const { deadlineMs, leftMs } = readObject(store.fs, at.deadlineFile(store.path, older)) ?? {};
    if (typeof deadlineMs !== 'number') continue;
    const most = typeof leftMs === 'number' ? leftMs : UNTOLD_GRACE_MS;
    longest = Math.max(longest, Math.min(deadlineMs - store.clock.now(), most - waited));
  }
  return longest;
}

/** Fences all older attempts: after this none of them can commit, also not after a crash. */
export function fenceOlder(store: OpenStore, attempt: number): void {
  const { fs, path } = store;
  for (const older of attemptNumbers(store)) {
    if (older >= attempt) break;
    fence(store, older);
    // This also covers an attempt that was moved earlier: the process that moved it may have died
    // before this sync.
    fs.fsyncFolder(at.attempt(path, older));
    fenceSaves(fs, at.fenced(path, older));
  }
}

/**
 * Fences an older attempt, or throws. A rename without a source may also mean that its target
 * folder is missing, so the result is checked.
 */
function fence(store: OpenStore, older: number): void {
  const { fs, path } = store;
  for (let tries = 0; tries < 2; tries++) {
    if (renamed(fs, at.staging(path, older), at.fenced(path, older)) || isFenced(store, older)) return;
    restoreFolders(fs, path);
  }
  throw new HoldfastError('RUN_DAMAGED', {
    message: `attempt ${older} cannot be fenced: ${printable(at.staging(path, older))} cannot be moved to ${printable(at.fenced(path, older))}`,
    hint: `${printable(at.store(path, 'fenced'))} must be a folder. Move the file there away, and start again.`,
  });
}

/**
 * Renames the parts of each save too: a late rename may still hold the moved folder, and must find
 * nothing in it.
 */
function fenceSaves(fs: DurableFs, staging: string): void {
  for (const save of namesIn(fs, staging)) {
    for (const name of [STAGED_DATA, STAGED_MANIFEST]) renamed(fs, join(staging, save, name), join(staging, save, `${name}.fenced`));
  }
}

function namesIn(fs: DurableFs, folder: string): readonly string[] {
  try {
    return fs.list(folder);
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return [];
    throw thrown;
  }
}

/** Renames; false when the source is gone. */
function renamed(fs: DurableFs, from: string, to: string): boolean {
  try {
    fs.rename(from, to);
    return true;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return false;
    throw thrown;
  }
}

/**
 * Makes everything durable that a scan finds from now on, also where its writer died before its
 * last sync. That is the name of each checkpoint. For an adopted one it is also the name of its
 * seal, which came into an existing folder. A seal from an earlier boot has survived that boot and
 * needs no sync.
 */
function makeSealsDurable(store: OpenStore): void {
  const { fs, path, run, bootId } = store;
  for (const { kind, manifestFile, parsed } of readSeals(fs, path)) {
    if (kind !== 'directory' || !parsed.ok) continue;
    const { manifest } = parsed;
    const isOfThisBoot = bootId === null || manifest.bootId === null || manifest.bootId === bootId;
    if (manifest.origin === 'adopted' && manifest.run === run && isOfThisBoot) syncIfPossible(store, dirname(manifestFile));
  }
  fs.fsyncFolder(path);
}

/**
 * Syncs one of many folders. A failure is no reason not to train: after a disk error the next
 * resume reads every byte.
 */
function syncIfPossible(store: OpenStore, folder: string): void {
  try {
    store.fs.fsyncFolder(folder);
  } catch (thrown) {
    if (isDiskError(thrown)) rememberSuspicion(store);
  }
}

function taken({ attempt, gang: owner }: Attempt, gang: string): HoldfastError {
  return new HoldfastError('ATTEMPT_TAKEN', {
    message: `attempt ${attempt} belongs to gang "${excerpt(owner, 60)}", not to "${excerpt(gang, 60)}"`,
    hint: 'One attempt is one gang. Give all its ranks the same gang id, and a new gang a higher number.',
  });
}

function usage(message: string): HoldfastError {
  return new HoldfastError('USAGE', { message });
}
