import { isObject, type JsonObject, parseJson } from '../json.ts';
import { at } from '../store/layout.ts';
import { isCount } from '../store/manifest.ts';
import { replaceFile } from '../store/replace-file.ts';
import { formatRollback, readRollback, type Rollback } from '../store/rollback.ts';
import type { OpenStore, Store } from '../store/store.ts';
import type { ObjectStore } from './backend.ts';
import { contended, notOurs } from './remote-error.ts';

/** As in the folder of a run: whoever reads a mounted prefix reads the decision like that of any run. */
const ROLLBACK_KEY = '.holdfast/rollback.json';
const ROLLBACK_SCHEMA = 'holdfast.rollback/1';
const MAX_BYTES = 64 * 1024;
const MAX_TRIES = 20;
/** There must be numbers left for the attempts that come after. */
const MAX_ATTEMPT = 1e14;

/** A decision that everybody who resumes from the copies keeps to. */
export interface SharedRollback {
  /** What holds; one that was taken back lets everything count. */
  readonly rollback: Rollback;
  /** It was taken back: older ones of other nodes do not hold any more either. */
  readonly isUndone: boolean;
}

/** What there is to do so that this folder and the copies have the same decision. */
type Difference = 'none' | 'publish' | 'publish-undone' | 'adopt' | 'forget';

export interface Settled {
  readonly difference: Difference;
  readonly there: SharedRollback | null;
  /** The decision that holds, whoever has it. */
  readonly holds: Rollback | null;
}

/**
 * Every decision has a number that no older one has, that of the attempts it is about: the newer one holds. `shared` is the newest that this folder
 * and the copies once had in common: one that is there and not here any more was taken back here.
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

/** Tells the copies what was decided here, by compare-and-swap, when it is newer than what they know. */
export async function shareRollback(remote: ObjectStore, store: Store): Promise<Settled> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await readShared(remote);
    const settled = settle(readRollback(store), found?.shared ?? null, readNote(store));
    const next = toPublish(settled);
    if (next === null) {
      // Whoever published it may not have heard that it did.
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

/** The same in both directions: what the copies know and this folder does not holds here from now on. What that changed; null: nothing. */
export async function exchangeRollback(remote: ObjectStore, store: OpenStore): Promise<string | null> {
  const settled = await shareRollback(remote, store);
  await takeOver(store, settled);
  return takenOver(remote, settled);
}

/** Tells what taking over changes in the folder; null: nothing. */
export function takenOver({ url }: ObjectStore, { difference, holds }: Settled): string | null {
  if (difference !== 'adopt' && difference !== 'forget') return null;
  if (holds === null) return `the run was rolled back at ${url}, and that was taken back; that holds here from now on`;
  const to = holds.to === null ? 'nothing' : `step ${holds.to.step}`;
  return `the run was rolled back at ${url} to ${to}; that holds here from now on, and attempts up to ${holds.throughAttempt} can commit nothing any more`;
}

/** Makes the decision of the copies that of this folder. */
export async function takeOver(store: OpenStore, { difference, there }: Settled): Promise<void> {
  if (there === null || difference === 'publish' || difference === 'publish-undone') return;
  const { rollback } = there;
  if (difference === 'adopt') await (await import('../store/adopt-rollback.ts')).adoptRollback(store, rollback);
  else if (difference === 'forget') (await import('../store/roll-back.ts')).undoRollback(store);
  writeNote(store, rollback);
}

/** The decision that the copies know; null when there is none. One that cannot be read is an error: it must not be lost in silence. */
async function readShared(remote: ObjectStore): Promise<{ readonly shared: SharedRollback; readonly version: string } | null> {
  const found = await remote.read(ROLLBACK_KEY, MAX_BYTES);
  if (found === null) return null;
  const shared = parseShared(found.bytes.toString('utf8'));
  if (shared === null) throw notOurs(remote, ROLLBACK_KEY);
  return { shared, version: found.version };
}

/** What holds for the folder of a run and its copies together, before anything is changed; without a folder, what the copies know. */
export async function settleRollback(remote: ObjectStore, store: Store | null): Promise<Settled> {
  const there = (await readShared(remote))?.shared ?? null;
  return store === null ? settle(null, there, null) : settle(readRollback(store), there, readNote(store));
}

/** What holds at the remote place. */
export async function remoteRollback(remote: ObjectStore): Promise<Rollback | null> {
  return (await readShared(remote))?.shared.rollback ?? null;
}

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

export function formatShared({ rollback, isUndone }: SharedRollback): string {
  return isUndone ? `${JSON.stringify({ ...(JSON.parse(formatRollback(rollback)) as object), isUndone })}\n` : formatRollback(rollback);
}

function toPublish({ difference, there, holds }: Settled): SharedRollback | null {
  if (difference === 'publish' && holds !== null) return { rollback: holds, isUndone: false };
  if (difference !== 'publish-undone' || there === null) return null;
  const { throughAttempt } = there.rollback;
  // Back to the newest there can be: nothing is left out, also for those who know nothing of being undone.
  return { rollback: { to: { name: '', attempt: throughAttempt, step: Number.MAX_SAFE_INTEGER }, throughAttempt }, isUndone: true };
}

const noteFile = ({ path }: Pick<Store, 'path'>): string => at.store(path, 'rollback-shared.json');

/** The number of the newest decision that this folder has had in common with copies; null when there was none. */
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
    // On a volume that cannot be written nobody takes a decision back either.
  }
}
