import { HoldfastError } from '../../core/errors.ts';
import { type CheckLevel, type CheckOptions, checkSealed, type Good } from './check-sealed.ts';
import { finishDeletions } from './graves.ts';
import { type LastGoodCache, readCache, rememberChanged, rememberSuspicion, writeCache } from './last-good-cache.ts';
import { listQuarantine, quarantine, type Quarantined } from './quarantine.ts';
import { readManifestFile } from './read-seals.ts';
import { isRolledBack, type Rollback } from './rollback.ts';
import { type BrokenSeal, type Scan, scan, type SealedCheckpoint } from './scan.ts';
import { openForWriting, type Store } from './store.ts';

export interface LastGoodOptions extends CheckOptions {
  /** `auto`: quick, and deep where the bytes may have changed since they were last seen. */
  readonly level?: 'auto' | 'deep';
  /** Look only: what is bad is told, but stays where it is, and nothing is remembered. */
  readonly isReadOnly?: boolean;
  /** Take none rather than one that is only doubted: whoever deletes older ones must be sure. */
  readonly isDoubtRefused?: boolean;
  readonly onCheck?: (name: string) => void;
}

/** A newer checkpoint that was not taken, and why. */
export interface Skipped {
  readonly name: string;
  readonly path: string;
  readonly step: number | null;
  readonly attempt: number | null;
  readonly state: 'bad' | 'doubted' | 'unreadable' | 'busy' | 'not-judged';
  readonly code: string;
  readonly reason: string;
  /** Where it was moved to, null when it stayed. */
  readonly quarantined: string | null;
}

type Because = 'default' | 'asked' | 'boot' | 'io-error' | 'suspect' | 'doubt';

export interface LastGood {
  readonly checkpoint: SealedCheckpoint | null;
  /** How it was checked, and why that thoroughly; null when there is none. */
  readonly level: CheckLevel | null;
  readonly because: Because | null;
  /** What the reader of its format holds against it, although every byte is what was sealed. */
  readonly warning: string | null;
  readonly skipped: readonly Skipped[];
  /** Where there is none: what lies in quarantine and would count. A run that has had checkpoints does not start fresh by itself. */
  readonly withheld: readonly Quarantined[];
  readonly scan: Scan;
}

/**
 * The newest sealed checkpoint that verifies. Each candidate is looked at once, the newest first: a bad one is moved to quarantine with the
 * reason, one that cannot be read stays where it is, and the next older one is taken. One whose bytes are what was sealed, but whose structure
 * is doubted, stays too, and is taken when there is none without a doubt: a reader that is wrong about one is wrong about all of them.
 */
export async function lastGood(store: Store, wishes: LastGoodOptions = {}): Promise<LastGood> {
  const options = { ...wishes, isReadOnly: wishes.isReadOnly === true || store.isCopy };
  let before: Before = { moved: [], hasFailed: false };
  for (let left = MAX_SCANS; ; left--) {
    const looked = await lookThrough(store, options, { ...before, isLast: left <= 1 });
    if ('scan' in looked) return looked;
    before = looked;
  }
}

/** Each further one needs a checkpoint that somebody has moved or deleted since the scan before. */
const MAX_SCANS = 10;

/** What is known from the rounds before. */
interface Before {
  /** What was moved aside. */
  readonly moved: readonly Skipped[];
  /** An I/O error was met, though what it was met at may be gone by now, or be read again. */
  readonly hasFailed: boolean;
}

interface Round extends Before {
  readonly isLast: boolean;
}

/** One scan, and each candidate of it. When one has gone meanwhile, say because a save and a prune came between, there may be a newer: it is scanned anew. */
async function lookThrough(store: Store, options: LastGoodOptions, round: Round): Promise<LastGood | Before> {
  const { onCheck, signal, isReadOnly } = options;
  const found = scan(store);
  const cache = readCache(store);
  const skipped = [...round.moved, ...skipBroken(store, found, options)];
  const isSick = (): boolean => round.hasFailed || skipped.some(({ state }) => state === 'unreadable');
  for (const checkpoint of found.sealed) {
    onCheck?.(checkpoint.name);
    signal?.throwIfAborted();
    const because = reasonForDeep(store, checkpoint, cache, { ...options, hasFailed: isSick() });
    const checked = await checkSealed(store, checkpoint, because === 'default' ? 'quick' : 'deep', options);
    if (checked.state === 'good') {
      if (isReadOnly !== true) remember(store, checkpoint, cache, { ...checked, hasFailed: isSick() });
      return { checkpoint, ...how(because, checked), skipped, withheld: [], scan: found };
    }
    if (!round.isLast && isGone(store, checkpoint)) return { moved: movedIn(skipped), hasFailed: isSick() };
    skipped.push(skip(store, checkpoint, checked, options));
  }
  if (isSick() && isReadOnly !== true) rememberSuspicion(store);
  if (await isMoreBack(store, options, round)) return { moved: movedIn(skipped), hasFailed: isSick() };
  return newestDoubted(found, skipped, options) ?? none(store, found, skipped);
}

function movedIn(skipped: readonly Skipped[]): readonly Skipped[] {
  return skipped.filter(({ quarantined }) => quarantined !== null);
}

/** Before there is none: a prune that was killed may have left one in the trash, whole, that it had decided to delete when there was a better one. */
async function isMoreBack(store: Store, options: LastGoodOptions, { isLast }: Round): Promise<boolean> {
  if (isLast || options.isReadOnly === true) return false;
  try {
    return await finishDeletions(store, options);
  } catch (thrown) {
    if (isImmovable(thrown)) return false;
    throw thrown;
  }
}

/** Its seal is not there any more, or another has its place. */
function isGone({ fs }: Store, { manifestFile, manifest }: SealedCheckpoint): boolean {
  const parsed = readManifestFile(fs, manifestFile);
  return parsed === null || (parsed.ok && parsed.manifest.save !== manifest.save);
}

/** How one that is good was checked: further than planned where its structure had to be confirmed. */
function how(because: Because, { level, warning }: Good): Pick<LastGood, 'level' | 'because' | 'warning'> {
  return { level, because: because === 'default' && level === 'deep' ? 'doubt' : because, warning };
}

/** What is left when none is good; null when nothing is doubted either. */
function newestDoubted(found: Scan, skipped: readonly Skipped[], { isDoubtRefused }: LastGoodOptions): LastGood | null {
  const newest = isDoubtRefused === true ? undefined : skipped.find(({ state }) => state === 'doubted');
  const checkpoint = found.sealed.find(({ path }) => path === newest?.path);
  if (newest === undefined || checkpoint === undefined) return null;
  const others = skipped.filter((one) => one !== newest);
  return { checkpoint, level: 'deep', because: 'doubt', warning: newest.reason, skipped: others, withheld: [], scan: found };
}

function none(store: Store, found: Scan, skipped: readonly Skipped[]): LastGood {
  return { checkpoint: null, level: null, because: null, warning: null, skipped, withheld: withheldIn(store, found), scan: found };
}

/** What lies in quarantine and would count. */
export function withheldIn(store: Store, { rollback }: Scan): readonly Quarantined[] {
  // What cannot say its attempt any more is as old as can be.
  return listQuarantine(store).filter(
    ({ attempt, step }) => !isRolledBack({ manifest: { attempt: attempt ?? 0, step: step ?? 0 } }, rollback),
  );
}

/** Why whoever resumes reads every byte of it first, although nobody asks for that; null when names and sizes suffice. */
export function readsFirst(store: Store, checkpoint: SealedCheckpoint): 'boot' | 'io-error' | 'suspect' | null {
  const because = reasonForDeep(store, checkpoint, readCache(store), { hasFailed: false });
  return because === 'boot' || because === 'io-error' || because === 'suspect' ? because : null;
}

/** True when the run has no checkpoint that it could have gone on from, good or bad: only then does it begin at the beginning by itself. */
export function startsFresh({ checkpoint, skipped, withheld, scan: { run, rollback, foreign } }: LastGood): boolean {
  // Checkpoints of several runs, and nothing that tells whose folder it is: some of them may be this run's.
  if (run === null && foreign.length > 0) return false;
  // Somebody wants to go on from a checkpoint that is not here: nothing is not what was decided.
  if (rollback !== null && rollback.to !== null) return false;
  // Who decides to start fresh leaves out also what cannot say its attempt.
  const isDecided = rollback !== null;
  return checkpoint === null && withheld.length === 0 && skipped.every(({ attempt }) => isDecided && attempt === null);
}

/** What the run was rolled back to, where that, and everything else that would count, is not here; null otherwise. */
export function missingTarget({ checkpoint, skipped, withheld, scan: { rollback } }: LastGood): Rollback['to'] {
  return checkpoint === null && skipped.length === 0 && withheld.length === 0 ? (rollback?.to ?? null) : null;
}

/** Why every byte is read, or `default` when names and sizes suffice. */
function reasonForDeep(
  store: Store,
  { manifest }: SealedCheckpoint,
  cache: LastGoodCache | null,
  { level, hasFailed: isSuspect }: { readonly level?: 'auto' | 'deep'; readonly hasFailed: boolean },
): Because {
  if (level === 'deep') return 'asked';
  if (isSuspect || cache?.isSuspect === true) return 'io-error';
  if (cache?.suspects.includes(manifest.save) === true) return 'suspect';
  if (store.bootId === null || manifest.bootId === store.bootId) return 'default';
  return cache?.save === manifest.save && cache.bootIds.includes(store.bootId) ? 'default' : 'boot';
}

function skipBroken(store: Store, found: Scan, options: LastGoodOptions): Skipped[] {
  return found.broken.map((broken) => {
    const state = broken.problem === 'unreadable' ? 'unreadable' : broken.isOwn && broken.problem !== 'foreign' ? 'bad' : 'not-judged';
    const code = broken.problem === 'foreign' ? 'MANIFEST_FOREIGN' : broken.problem === 'outside' ? 'MANIFEST_OUTSIDE' : 'MANIFEST_INVALID';
    return skip(store, broken, { state, code, reason: `its manifest ${broken.reason}` }, options);
  });
}

function skip(
  store: Store,
  checkpoint: SealedCheckpoint | BrokenSeal,
  { state, code, reason }: { readonly state: Skipped['state']; readonly code: string; readonly reason: string },
  { isReadOnly }: LastGoodOptions,
): Skipped {
  const { name, path } = checkpoint;
  const manifest = 'manifest' in checkpoint ? checkpoint.manifest : null;
  const quarantined = state === 'bad' && isReadOnly !== true ? moveAside(store, checkpoint, { code, reason }) : null;
  return { name, path, step: manifest?.step ?? null, attempt: manifest?.attempt ?? null, state, code, reason, quarantined };
}

const CANNOT_MOVE: ReadonlySet<string> = new Set(['STORE_NOT_WRITABLE', 'STORE_FULL', 'STORE_FAILED', 'STORAGE_NOT_SUITED']);

function isImmovable(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && CANNOT_MOVE.has(thrown.code);
}

/**
 * Where it cannot be moved (a folder that is not writable, a mount of its own) the bad one stays, and is read again every time: names and sizes alone would
 * pass. On a volume on which nothing at all can be written that cannot be remembered either.
 */
function moveAside(store: Store, checkpoint: SealedCheckpoint | BrokenSeal, why: { code: string; reason: string }): string | null {
  try {
    return quarantine(openForWriting(store), checkpoint, why)?.path ?? null;
  } catch (thrown) {
    if (!isImmovable(thrown)) throw thrown;
    if ('manifest' in checkpoint) rememberChanged(store, checkpoint.manifest);
    return null;
  }
}

/** What is still doubted: a deep check in which all is well takes away what was doubted when it began, of the whole run and of the save that it read. */
function doubtsLeft(
  now: LastGoodCache | null,
  before: LastGoodCache | null,
  { level, save }: { readonly level: CheckLevel; readonly save: string },
): Pick<LastGoodCache, 'isSuspect' | 'suspects'> {
  const { isSuspect = false, suspects = [] } = now ?? {};
  if (level !== 'deep' || before === null) return { isSuspect, suspects };
  const isRead = before.suspects.includes(save);
  return { isSuspect: isSuspect && !before.isSuspect, suspects: suspects.filter((one) => !isRead || one !== save) };
}

/** `before` is what was known when the look began. Reading can take long: what others have found bad since then stays. */
function remember(
  store: Store,
  { name, manifest: { save, bootId } }: SealedCheckpoint,
  before: LastGoodCache | null,
  { level, hasFailed: isSick }: { readonly level: CheckLevel; readonly hasFailed: boolean },
): void {
  if (store.run === null) return;
  const now = readCache(store);
  const known = now?.save === save ? now.bootIds : bootId === null ? [] : [bootId];
  const bootIds = store.bootId === null || known.includes(store.bootId) || level === 'quick' ? known : [...known, store.bootId];
  const { isSuspect, suspects } = doubtsLeft(now, before, { level, save });
  const next = { name, save, bootIds, isSuspect: isSick || isSuspect, suspects };
  if (now !== null && JSON.stringify(now) === JSON.stringify(next)) return;
  writeCache({ ...store, run: store.run }, next);
}
