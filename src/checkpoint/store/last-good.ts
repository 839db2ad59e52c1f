import { HoldfastError } from '../../core/errors.ts';
import { type CheckLevel, type CheckOptions, checkSealed } from './check-sealed.ts';
import { type LastGoodCache, readCache, writeCache } from './last-good-cache.ts';
import { quarantine } from './quarantine.ts';
import { type BrokenSeal, type Scan, scan, type SealedCheckpoint } from './scan.ts';
import { openForWriting, type Store } from './store.ts';

export interface LastGoodOptions extends CheckOptions {
  /** `auto`: quick, and deep where the bytes may have changed since they were last seen. */
  readonly level?: 'auto' | 'deep';
  /** Look only: what is bad is told, but stays where it is, and nothing is remembered. */
  readonly isReadOnly?: boolean;
  readonly onCheck?: (name: string) => void;
}

/** A newer checkpoint that was not taken, and why. */
export interface Skipped {
  readonly name: string;
  readonly path: string;
  readonly step: number | null;
  readonly attempt: number | null;
  readonly state: 'bad' | 'unreadable' | 'busy' | 'not-judged';
  readonly code: string;
  readonly reason: string;
  /** Where it was moved to, null when it stayed. */
  readonly quarantined: string | null;
}

export interface LastGood {
  readonly checkpoint: SealedCheckpoint | null;
  /** How it was checked, and why that thoroughly; null when there is none. */
  readonly level: CheckLevel | null;
  readonly because: 'default' | 'asked' | 'boot' | 'io-error' | null;
  readonly skipped: readonly Skipped[];
  readonly scan: Scan;
}

/**
 * The newest sealed checkpoint that verifies. Each candidate is looked at once, the newest first: a bad one is moved to quarantine with the
 * reason, one that cannot be read stays where it is, and the next older one is taken.
 */
export async function lastGood(store: Store, options: LastGoodOptions = {}): Promise<LastGood> {
  const found = scan(store);
  const cache = readCache(store);
  const skipped: Skipped[] = skipBroken(store, found, options);
  let hasFailed = skipped.some(({ state }) => state === 'unreadable');
  for (const checkpoint of found.sealed) {
    options.onCheck?.(checkpoint.name);
    options.signal?.throwIfAborted();
    const because = reasonForDeep(store, checkpoint, cache, { ...options, isSuspect: hasFailed || cache?.isSuspect === true });
    const level = because === 'default' ? 'quick' : 'deep';
    const checked = await checkSealed(store, checkpoint, level, options);
    if (checked.state === 'good') {
      if (options.isReadOnly !== true) remember(store, checkpoint, cache, { level, hasFailed });
      return { checkpoint, level, because, skipped, scan: found };
    }
    skipped.push(skip(store, checkpoint, checked, options));
    if (checked.state === 'unreadable') hasFailed = true;
  }
  if (hasFailed && options.isReadOnly !== true) rememberSuspicion(store, cache);
  return { checkpoint: null, level: null, because: null, skipped, scan: found };
}

/** Why every byte is read, or `default` when names and sizes suffice. */
function reasonForDeep(
  store: Store,
  { manifest }: SealedCheckpoint,
  cache: LastGoodCache | null,
  { level, isSuspect }: { readonly level?: 'auto' | 'deep'; readonly isSuspect: boolean },
): 'default' | 'asked' | 'boot' | 'io-error' {
  if (level === 'deep') return 'asked';
  if (isSuspect) return 'io-error';
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

/** On a volume that cannot be written the bad one stays, and is passed by every time. */
function moveAside(store: Store, checkpoint: SealedCheckpoint | BrokenSeal, why: { code: string; reason: string }): string | null {
  try {
    return quarantine(openForWriting(store), checkpoint, why)?.path ?? null;
  } catch (thrown) {
    if (thrown instanceof HoldfastError && (thrown.code === 'STORE_NOT_WRITABLE' || thrown.code === 'STORE_FULL')) return null;
    throw thrown;
  }
}

function remember(
  store: Store,
  { name, manifest }: SealedCheckpoint,
  cache: LastGoodCache | null,
  { level, hasFailed }: { level: CheckLevel; hasFailed: boolean },
): void {
  if (store.run === null) return;
  const known = cache?.save === manifest.save ? cache.bootIds : manifest.bootId === null ? [] : [manifest.bootId];
  const bootIds = store.bootId === null || known.includes(store.bootId) || level === 'quick' ? known : [...known, store.bootId];
  // Only a deep check in which nothing failed takes the suspicion away.
  const isSuspect = hasFailed || (cache?.isSuspect === true && level !== 'deep');
  const next = { name, save: manifest.save, bootIds, isSuspect };
  if (cache !== null && JSON.stringify(cache) === JSON.stringify(next)) return;
  writeCache({ ...store, run: store.run }, next);
}

function rememberSuspicion(store: Store, cache: LastGoodCache | null): void {
  if (store.run === null) return;
  writeCache({ ...store, run: store.run }, { ...(cache ?? { name: '', save: '', bootIds: [] }), isSuspect: true });
}
