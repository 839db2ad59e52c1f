import { HoldfastError } from '../../core/errors.ts';
import { type CheckLevel, type CheckOptions, checkSealed, type Good } from '../folder/check-sealed.ts';
import { finishDeletions } from '../trash/trash.ts';
import { type LastGoodCache, readCache, rememberChanged, rememberSuspicion, writeCache } from '../folder/last-good-cache.ts';
import { listQuarantine, quarantine, type Quarantined } from './quarantine.ts';
import { readManifestFile } from '../folder/read-seals.ts';
import { isRolledBack, type Rollback } from '../folder/rollback.ts';
import { type BrokenSeal, type Scan, scan, type SealedCheckpoint } from '../folder/scan.ts';
import { openForWriting, type Store } from '../folder/store.ts';

/** How thoroughly the search checks a candidate, and what it may change. */
export interface LastGoodOptions extends CheckOptions {
  /** `auto`: quick, and deep where the bytes may have changed since the last check. */
  readonly level?: 'auto' | 'deep';
  /** Only look: bad checkpoints are reported but stay in place, and nothing is remembered. */
  readonly isReadOnly?: boolean;
  /**
   * Return null rather than a doubted checkpoint. Prune sets this, because it deletes older ones.
   */
  readonly isDoubtRefused?: boolean;
  readonly onCheck?: (name: string) => void;
}

/** A newer checkpoint that the search skipped, and why. */
export interface Skipped {
  readonly name: string;
  readonly path: string;
  readonly step: number | null;
  readonly attempt: number | null;
  readonly state: 'bad' | 'doubted' | 'unreadable' | 'busy' | 'not-judged';
  readonly code: string;
  readonly reason: string;
  /** The quarantine path, null when the checkpoint stayed in place. */
  readonly quarantined: string | null;
}

type Because = 'default' | 'asked' | 'boot' | 'io-error' | 'suspect' | 'doubt';

/** The outcome of a search for the last good checkpoint. */
export interface LastGood {
  readonly checkpoint: SealedCheckpoint | null;
  /** How thoroughly it was checked, and why; null when there is none. */
  readonly level: CheckLevel | null;
  readonly because: Because | null;
  /** The doubts of the format's reader, although every byte is as sealed. */
  readonly warning: string | null;
  readonly skipped: readonly Skipped[];
  /**
   * Where there is none: what lies in quarantine and would count. A run that had checkpoints never
   * starts fresh by itself.
   */
  readonly withheld: readonly Quarantined[];
  readonly scan: Scan;
}

/**
 * Finds the newest sealed checkpoint that verifies. It checks each candidate once, the newest
 * first. A bad one moves to quarantine with the reason; an unreadable one stays; the search
 * continues with the next older one. A candidate with unchanged bytes but a doubted structure stays
 * too. It is returned only when every other one is doubted or bad: a reader that errs about one
 * errs about all.
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

/**
 * Each further scan needs a checkpoint that another process moved or deleted since the scan before.
 */
const MAX_SCANS = 10;

/** The findings of earlier rounds. */
interface Before {
  /** The checkpoints that this search has moved to quarantine. */
  readonly moved: readonly Skipped[];
  /** An I/O error occurred, even if its file is gone or readable by now. */
  readonly hasFailed: boolean;
}

interface Round extends Before {
  readonly isLast: boolean;
}

/**
 * Scans once and checks each candidate. A candidate can vanish meanwhile, when a save and a prune
 * come between. Then a newer one may exist, so the caller scans again.
 */
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

/**
 * Empties the trash before the search reports none; true when a checkpoint came back. A killed
 * prune may have left a whole one there, chosen for deletion when there was a better one.
 */
async function isMoreBack(store: Store, options: LastGoodOptions, { isLast }: Round): Promise<boolean> {
  if (isLast || options.isReadOnly === true) return false;
  try {
    return await finishDeletions(store, options);
  } catch (thrown) {
    if (isImmovable(thrown)) return false;
    throw thrown;
  }
}

/** Its seal is gone, or another checkpoint has its place. */
function isGone({ fs }: Store, { manifestFile, manifest }: SealedCheckpoint): boolean {
  const parsed = readManifestFile(fs, manifestFile);
  return parsed === null || (parsed.ok && parsed.manifest.save !== manifest.save);
}

/**
 * How a good candidate was checked: deeper than planned where its structure needed confirmation.
 */
function how(because: Because, { level, warning }: Good): Pick<LastGood, 'level' | 'because' | 'warning'> {
  return { level, because: because === 'default' && level === 'deep' ? 'doubt' : because, warning };
}

/** The best answer when no candidate is good; null when none is doubted either. */
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

/** Lists the quarantined checkpoints that would count. */
export function withheldIn(store: Store, { rollback }: Scan): readonly Quarantined[] {
  // An entry without a readable attempt counts as the oldest.
  return listQuarantine(store).filter(
    ({ attempt, step }) => !isRolledBack({ manifest: { attempt: attempt ?? 0, step: step ?? 0 } }, rollback),
  );
}

/**
 * Why `resume` reads every byte of the checkpoint without `--deep`; null when names and sizes
 * suffice.
 */
export function readsFirst(store: Store, checkpoint: SealedCheckpoint): 'boot' | 'io-error' | 'suspect' | null {
  const because = reasonForDeep(store, checkpoint, readCache(store), { hasFailed: false });
  return because === 'boot' || because === 'io-error' || because === 'suspect' ? because : null;
}

/**
 * True when the run has no checkpoint, good or bad, to resume from: only then does it start fresh
 * by itself.
 */
export function startsFresh({ checkpoint, skipped, withheld, scan: { run, rollback, foreign } }: LastGood): boolean {
  // The folder holds checkpoints of several runs and no identity: some of them may belong to this
  // run.
  if (run === null && foreign.length > 0) return false;
  // A person chose a checkpoint that is not here, and did not choose a fresh start.
  if (rollback !== null && rollback.to !== null) return false;
  // A person who decides to start fresh also excludes checkpoints without a readable attempt.
  const isDecided = rollback !== null;
  return checkpoint === null && withheld.length === 0 && skipped.every(({ attempt }) => isDecided && attempt === null);
}

/**
 * The target of the rollback, when neither it nor anything else that would count is here; null
 * otherwise.
 */
export function missingTarget({ checkpoint, skipped, withheld, scan: { rollback } }: LastGood): Rollback['to'] {
  return checkpoint === null && skipped.length === 0 && withheld.length === 0 ? (rollback?.to ?? null) : null;
}

/** Returns why every byte is read, or `default` when names and sizes suffice. */
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
 * A bad checkpoint that cannot be moved stays, and every search reads all of it again, because
 * names and sizes alone would pass. The folder may be read-only, or a mount of its own. A volume
 * that takes no write cannot remember this either.
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

/**
 * What remains doubted: a deep check without errors clears the earlier doubts about the run and
 * about the save that it read.
 */
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

/**
 * `before` is the state when the check began. Reading can take long, and findings of other
 * processes since then stay.
 */
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
