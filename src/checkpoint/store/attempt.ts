import { dirname, join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { isObject, type JsonObject, parseJson } from '../json.ts';
import type { DurableFs } from './durable-fs.ts';
import { rememberSuspicion } from './last-good-cache.ts';
import { at, STAGED_DATA, STAGED_MANIFEST } from './layout.ts';
import { readSeals } from './read-seals.ts';
import { replaceFile } from './replace-file.ts';
import { type OpenStore, restoreFolders, type Store } from './store.ts';
import { isCode, isDiskError, isNotOurs, storeError } from './store-error.ts';

const ATTEMPT_SCHEMA = 'holdfast.attempt/1';

/** One life of the whole gang. Its number is the fencing token. */
export interface Attempt {
  readonly attempt: number;
  readonly gang: string;
}

export interface StartOptions {
  /** Shared by all nodes and ranks of the attempt, and by nobody else. */
  readonly gang: string;
  /** The number, when it is given from outside; else the next one, or that of the newest attempt when it is of the same gang. */
  readonly attempt?: number;
  /** Longest wait for the predecessor's published deadline; what was left of it when it was published, when this is left out. */
  readonly maxWaitMs?: number;
  readonly signal?: AbortSignal;
}

/** No grace is longer than this, whatever a file says. */
const LONGEST_GRACE_MS = 24 * 3_600_000;
/** Of a predecessor that does not tell how much was left. */
const UNTOLD_GRACE_MS = 10 * 60_000;
const POLL_MS = 500;
/** One is added to a number, and every number must be told from the next. */
const MAX_ATTEMPT = 999_999_999_999_999;

/**
 * Starts an attempt, or joins it when another of the same gang has started it.
 *
 * What fences older attempts: an attempt's folder appears in one step with its staging folder inside, and nobody ever makes a staging folder
 * again. A newer attempt moves it aside, and then, inside, what each save would rename to its final place. Whatever an older attempt does
 * afterwards has nothing to rename: no clock and no check before a rename is involved, and a rename that was already on its way into the kernel
 * finds its source gone too. A commit that came first is seen by the scan, because scanning follows fencing.
 *
 * An attempt whose number is below one that exists is refused here: both sides first make their folder and then look for the other's, so
 * that at least one of them sees the other.
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

/** The newest attempt of the run, null when there was none. */
export function newestAttempt(store: Store): Attempt | null {
  const attempt = attemptNumbers(store).at(-1);
  return attempt === undefined ? null : readAttempt(store, attempt);
}

/** An attempt publishes until when its grace lasts; a replacement that starts earlier waits until then. Null: it is done. */
export function publishDeadline(store: OpenStore, { attempt }: Attempt, deadlineMs: number | null): void {
  try {
    // How much was left is told too: a replacement on a machine whose clock differs must not wait longer than that.
    const leftMs = deadlineMs === null ? 0 : Math.max(0, deadlineMs - store.clock.now());
    replaceFile(store.fs, at.deadlineFile(store.path, attempt), `${JSON.stringify({ deadlineMs, leftMs })}\n`, store.makeId());
  } catch (thrown) {
    throw storeError(thrown, 'publish the deadline in', at.attempt(store.path, attempt));
  }
}

/** The error of a writer whose attempt was replaced. */
export function fencedError(attempt: number, cause?: unknown): HoldfastError {
  return new HoldfastError('ATTEMPT_FENCED', {
    message: `attempt ${attempt} was replaced by a newer one, so it can commit nothing any more`,
    hint: 'This process belongs to an old life of the run and should end. The newer attempt goes on from the last good checkpoint.',
    cause,
  });
}

/** True when a newer attempt has taken the staging folder away; listing asks network file systems anew, which a rename does not. */
export function isFenced({ fs, path }: Store, attempt: number): boolean {
  try {
    return !fs.list(at.attempt(path, attempt)).includes('staging');
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return true;
    throw thrown;
  }
}

function claimNumber(store: OpenStore, { gang, attempt: wanted }: StartOptions): number {
  for (;;) {
    const numbers = attemptNumbers(store);
    const known = wanted === undefined ? attemptOf(store, gang, numbers) : readAttempt(store, wanted);
    if (known?.gang === gang) {
      // Whoever made it may have died before its name was durable.
      store.fs.fsyncFolder(at.store(store.path, 'attempts'));
      return known.attempt;
    }
    if (known !== null) throw taken(known, gang);
    const number = wanted ?? newestNumber(store, numbers) + 1;
    if (!isAttemptNumber(number)) throw usage(`${printable(store.path)} has an attempt ${number - 1}, after which there is no number left`);
    if (createAttempt(store, { attempt: number, gang })) return number;
  }
}

/** The attempt a gang has already. It may be an older one: a rank that comes late must be refused, and not start another attempt. */
function attemptOf(store: OpenStore, gang: string, numbers: readonly number[]): Attempt | null {
  for (const number of numbers.toReversed()) {
    const known = readAttempt(store, number);
    if (known?.gang === gang) return known;
  }
  return null;
}

export function isAttemptNumber(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= MAX_ATTEMPT;
}

/**
 * The newest attempt that this folder knows of, 0 when there is none. Manifests count too: a checkpoint that was fetched or copied from where
 * the run went on is newer than every attempt that started here, and whatever came after it must not count as older.
 */
export function newestNumber(store: OpenStore, numbers: readonly number[] = attemptNumbers(store)): number {
  const { fs, path, run } = store;
  let newest = numbers.at(-1) ?? 0;
  for (const { parsed } of readSeals(fs, path)) {
    if (parsed.ok && parsed.manifest.run === run) newest = Math.max(newest, parsed.manifest.attempt);
  }
  return newest;
}

/** Makes the attempt's folder in one step; false when another was first. */
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
  // The number must never be given twice, also not after a crash.
  fs.fsyncFolder(at.store(path, 'attempts'));
  return true;
}

function refuseIfOlder(store: OpenStore, attempt: number): void {
  if (newestNumber(store) > attempt) throw fencedError(attempt);
}

/** Attempt numbers in ascending order. */
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

/** Waits until no older attempt that can still commit has a deadline ahead. Bounded by elapsed time, so that a clock that jumps cannot hang it. */
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

/** Nothing of what is older than this can be committed any more when this returns, also not after a crash. */
export function fenceOlder(store: OpenStore, attempt: number): void {
  const { fs, path } = store;
  for (const older of attemptNumbers(store)) {
    if (older >= attempt) break;
    fence(store, older);
    // Also for one that was moved earlier: whoever moved it may have died before this.
    fs.fsyncFolder(at.attempt(path, older));
    fenceSaves(fs, at.fenced(path, older));
  }
}

/** Nothing goes on before the older attempt is known to be fenced: that there was nothing to rename may also mean that there is no place for it. */
function fence(store: OpenStore, older: number): void {
  const { fs, path } = store;
  for (let tries = 0; tries < 2; tries++) {
    if (renamed(fs, at.staging(path, older), at.fenced(path, older)) || isFenced(store, older)) return;
    restoreFolders(fs, path);
  }
  throw new HoldfastError('RUN_DAMAGED', {
    message: `attempt ${older} cannot be fenced: ${printable(at.staging(path, older))} cannot be moved to ${printable(at.fenced(path, older))}`,
    hint: `${printable(at.store(path, 'fenced'))} must be a folder. Move away what lies there, and start again.`,
  });
}

/** A rename that was on its way when its folder was moved still holds that folder: it must find nothing in it. */
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

/** False when there was nothing to rename any more. */
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
 * What a scan finds from now on is durable, also where its writer died before its last sync: its name, and for what was adopted, whose seal came
 * into a folder that was there, the name of the seal. A seal that is older than this life of the machine has outlived the one it was made in.
 */
function makeSealsDurable(store: OpenStore): void {
  const { fs, path, run, bootId } = store;
  for (const { kind, manifestFile, parsed } of readSeals(fs, path)) {
    if (kind !== 'directory' || !parsed.ok) continue;
    const { manifest } = parsed;
    const isOfThisLife = bootId === null || manifest.bootId === null || manifest.bootId === bootId;
    if (manifest.origin === 'adopted' && manifest.run === run && isOfThisLife) syncIfPossible(store, dirname(manifestFile));
  }
  fs.fsyncFolder(path);
}

/** One of many, or gone meanwhile: no reason not to train. Whoever resumes reads every byte where the disk has failed. */
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
