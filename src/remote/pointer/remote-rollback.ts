import { isObject, type JsonObject, parseJson } from '../../core/json.ts';
import { at } from '../../seal/names.ts';
import { isCount } from '../../seal/manifest.ts';
import { replaceFile } from '../../store/disk/replace-file.ts';
import { formatRollback, readRollback, type Rollback } from '../../store/folder/rollback.ts';
import type { OpenStore, Store } from '../../store/folder/store.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { contended, notOurs } from '../backends/remote-error.ts';

/** The same path as in the folder of a run, so that a mounted prefix reads like any run. */
const ROLLBACK_KEY = '.holdfast/rollback.json';
const ROLLBACK_SCHEMA = 'holdfast.rollback/1';
const MAX_BYTES = 64 * 1024;
const MAX_TRIES = 20;
/** Later attempts must still have numbers. */
const MAX_ATTEMPT = 1e14;

/** The rollback that every node that resumes from the copies obeys. */
export interface SharedRollback {
  /** The rollback in force; an undone one excludes nothing. */
  readonly rollback: Rollback;
  /** The rollback was undone, so older rollbacks of other nodes end, too. */
  readonly isUndone: boolean;
}

/** The action that gives this folder and the copies the same rollback. */
type Difference = 'none' | 'publish' | 'publish-undone' | 'adopt' | 'forget';

/** The result of comparing the folder's rollback with the one at the copies. */
export interface Settled {
  readonly difference: Difference;
  readonly there: SharedRollback | null;
  /** The rollback in force, from either side. */
  readonly holds: Rollback | null;
}

/**
 * Decides between the rollback here and the one at the copies. Each has a number above all older
 * ones: the newest attempt it excludes. The newer one wins. `shared` is the newest number that both
 * sides once had. If only the copies still have it, it was undone here.
 */
export function settle(here: Rollback | null, there: SharedRollback | null, shared: number | null): Settled {
  if (there === null) return { difference: here === null ? 'none' : 'publish', there, holds: here };
  const { rollback, isUndone } = there;
  if (here !== null && here.throughAttempt > rollback.throughAttempt) return { difference: 'publish', there, holds: here };
  if (isUndone) return { difference: here === null ? 'none' : 'forget', there, holds: null };
  if (here === null && shared !== null && shared >= rollback.throughAttempt) return { difference: 'publish-undone', there, holds: null };
  const isSame = here !== null && JSON.stringify(here.to) === JSON.stringify(rollback.to);
  return { difference: isSame && here.throughAttempt === rollback.throughAttempt ? 'none' : 'adopt', there, holds: rollback };
}

/** Publishes this folder's rollback at the copies, by compare-and-swap, if it is newer. */
export async function shareRollback(remote: ObjectStore, store: Store): Promise<Settled> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await readShared(remote);
    const settled = settle(readRollback(store), found?.shared ?? null, readNote(store));
    const next = toPublish(settled);
    if (next === null) {
      // The answer to an earlier publishing may have been lost.
      if (settled.difference === 'none' && settled.there !== null) writeNote(store, settled.there.rollback);
      return settled;
    }
    const bytes = Buffer.from(formatShared(next));
    const written = found === null ? await remote.create(ROLLBACK_KEY, bytes) : await remote.replace(ROLLBACK_KEY, bytes, found.version);
    if (!written.isWritten) continue;
    writeNote(store, next.rollback);
    return settled;
  }
  throw contended(remote, 'the decision to roll back');
}

/**
 * Exchanges rollbacks in both directions. Returns a sentence about what changed in this folder, or
 * null.
 */
export async function exchangeRollback(remote: ObjectStore, store: OpenStore): Promise<string | null> {
  const settled = await shareRollback(remote, store);
  await takeOver(store, settled);
  return takenOver(remote, settled);
}

/** Describes what a remote rollback changes in the folder; null when it changes nothing. */
export function takenOver({ url }: ObjectStore, { difference, holds }: Settled): string | null {
  if (difference !== 'adopt' && difference !== 'forget') return null;
  if (holds === null) return `the rollback at ${url} was undone; from now on this holds here too`;
  const to = holds.to === null ? 'nothing' : `step ${holds.to.step}`;
  return `the run was rolled back at ${url} to ${to}; from now on this holds here too, and attempts up to ${holds.throughAttempt} can no longer commit`;
}

/** Applies the rollback of the copies to this folder. */
export async function takeOver(store: OpenStore, { difference, there }: Settled): Promise<void> {
  if (there === null || difference === 'publish' || difference === 'publish-undone') return;
  const { rollback } = there;
  if (difference === 'adopt') await (await import('../../store/adopt/adopt-rollback.ts')).adoptRollback(store, rollback);
  else if (difference === 'forget') (await import('../../store/attempt/roll-back.ts')).undoRollback(store);
  writeNote(store, rollback);
}

/**
 * Reads the rollback at the copies; null when there is none. An unreadable one is an error, because
 * dropping it silently would be wrong.
 */
async function readShared(remote: ObjectStore): Promise<{ readonly shared: SharedRollback; readonly version: string } | null> {
  const found = await remote.read(ROLLBACK_KEY, MAX_BYTES);
  if (found === null) return null;
  const shared = parseShared(found.bytes.toString('utf8'));
  if (shared === null) throw notOurs(remote, ROLLBACK_KEY);
  return { shared, version: found.version };
}

/**
 * Compares the rollbacks of a folder and its copies without changing anything. Without a folder,
 * only the copies count.
 */
export async function settleRollback(remote: ObjectStore, store: Store | null): Promise<Settled> {
  const there = (await readShared(remote))?.shared ?? null;
  return store === null ? settle(null, there, null) : settle(readRollback(store), there, readNote(store));
}

/** The rollback in force at the remote place. */
export async function remoteRollback(remote: ObjectStore): Promise<Rollback | null> {
  return (await readShared(remote))?.shared.rollback ?? null;
}

/** Reads a rollback document; null when the text is none. */
export function parseShared(text: string): SharedRollback | null {
  const json = parseJson(text);
  if (!json.ok || !isObject(json.value)) return null;
  const { schema, to, throughAttempt, isUndone } = json.value;
  if (schema !== ROLLBACK_SCHEMA || !isCount(throughAttempt) || throughAttempt > MAX_ATTEMPT) return null;
  const target = to === null ? null : isObject(to) ? parseTarget(to) : undefined;
  return target === undefined ? null : { rollback: { to: target, throughAttempt }, isUndone: isUndone === true };
}

function parseTarget({ name, attempt, step }: JsonObject): NonNullable<Rollback['to']> | undefined {
  return typeof name === 'string' && isCount(attempt) && isCount(step) ? { name, attempt, step } : undefined;
}

/** Writes a rollback document. */
export function formatShared({ rollback, isUndone }: SharedRollback): string {
  return isUndone ? `${JSON.stringify({ ...(JSON.parse(formatRollback(rollback)) as object), isUndone })}\n` : formatRollback(rollback);
}

function toPublish({ difference, there, holds }: Settled): SharedRollback | null {
  if (difference === 'publish' && holds !== null) return { rollback: holds, isUndone: false };
  if (difference !== 'publish-undone' || there === null) return null;
  const { throughAttempt } = there.rollback;
  // A rollback to the newest possible step excludes nothing, even for readers that do not know
  // about undoing.
  return { rollback: { to: { name: '', attempt: throughAttempt, step: Number.MAX_SAFE_INTEGER }, throughAttempt }, isUndone: true };
}

const noteFile = ({ path }: Pick<Store, 'path'>): string => at.store(path, 'rollback-shared.json');

/**
 * Reads the number of the newest rollback that this folder shared with copies; null when there was
 * none.
 */
function readNote({ fs, path }: Store): number | null {
  try {
    const json = parseJson(fs.readFile(noteFile({ path })).toString('utf8'));
    const throughAttempt = json.ok && isObject(json.value) ? json.value['throughAttempt'] : null;
    return isCount(throughAttempt) ? throughAttempt : null;
  } catch {
    return null;
  }
}

function writeNote(store: Store, { throughAttempt }: Rollback): void {
  if (readNote(store) === throughAttempt) return;
  try {
    replaceFile(store.fs, noteFile(store), `${JSON.stringify({ throughAttempt })}\n`, store.makeId());
  } catch {
    // On a volume that cannot be written, no rollback can be undone either.
  }
}
