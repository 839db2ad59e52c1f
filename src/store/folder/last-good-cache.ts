import { isArray, isObject, parseJson } from '../../core/json.ts';
import { at } from '../../seal/names.ts';
import type { Manifest } from '../../seal/manifest.ts';
import { replaceFile } from '../disk/replace-file.ts';
import type { OpenStore, Store } from './store.ts';
import { isDiskError, isInputOutputError, storeError } from '../disk/store-error.ts';

const CACHE_SCHEMA = 'holdfast.last-good/1';
/** How many boots the cache keeps; a run rarely sees more nodes at a time. */
const MAX_BOOTS = 64;
/** How many suspect saves the cache keeps, the newest findings. */
const MAX_SUSPECTS = 64;

/**
 * The result of the last search. It is only a cache: the scan is the truth. It avoids a second read
 * of every byte while nothing suggests a change, and forces one where something does.
 */
export interface LastGoodCache {
  readonly name: string;
  readonly save: string;
  /** The boots in which the bytes were written, or were read and matched. */
  readonly bootIds: readonly string[];
  /** True after an I/O error: every byte is read until a deep check passes. */
  readonly isSuspect: boolean;
  /**
   * Saves in the run that were found bad, or changed since their seal: each is read whole before it
   * is used again.
   */
  readonly suspects: readonly string[];
}

/** The cache of a store without any earlier result. */
const UNKNOWN: LastGoodCache = { name: '', save: '', bootIds: [], isSuspect: false, suspects: [] };

/**
 * Reads the cache; null when it is missing or malformed. After an I/O error the suspects are
 * unknown, so every byte must be read.
 */
export function readCache({ fs, path }: Store): LastGoodCache | null {
  try {
    const json = parseJson(fs.readFile(at.lastGoodFile(path)).toString('utf8'));
    if (!json.ok || !isObject(json.value)) return null;
    const { schema, name, save, bootIds, isSuspect, suspects } = json.value;
    if (schema !== CACHE_SCHEMA || typeof name !== 'string' || typeof save !== 'string' || !isArray(bootIds)) return null;
    return { name, save, bootIds: textsIn(bootIds), isSuspect: isSuspect === true, suspects: isArray(suspects) ? textsIn(suspects) : [] };
  } catch (thrown) {
    return isInputOutputError(thrown) ? { ...UNKNOWN, isSuspect: true } : null;
  }
}

function textsIn(values: readonly unknown[]): readonly string[] {
  return values.filter((value) => typeof value === 'string');
}

/**
 * Replaces the cache. A failure is harmless: no decision depends on it, and the next scan finds the
 * same.
 */
export function writeCache(store: OpenStore, cache: LastGoodCache): void {
  try {
    replaceCache(store, cache);
  } catch {
    // A full or read-only volume keeps the old cache, which only makes the next check more
    // thorough.
  }
}

function replaceCache(store: OpenStore, cache: LastGoodCache): void {
  const bounded = { bootIds: cache.bootIds.slice(-MAX_BOOTS), suspects: cache.suspects.slice(-MAX_SUSPECTS) };
  replaceFile(store.fs, at.lastGoodFile(store.path), `${JSON.stringify({ schema: CACHE_SCHEMA, ...cache, ...bounded })}\n`, store.makeId());
}

/**
 * Records saves that were found bad or changed, durably. Each stays unused until every byte of it
 * is read and matches.
 */
export function suspect(store: OpenStore, saves: readonly string[]): void {
  const cache = readCache(store) ?? UNKNOWN;
  const suspects = [...new Set([...cache.suspects.filter((save) => !saves.includes(save)), ...saves])];
  if (JSON.stringify(suspects) !== JSON.stringify(cache.suspects)) replaceCache(store, { ...cache, suspects });
}

/**
 * Records a save that another task found changed. If the write fails, the caller reports its own
 * error.
 */
export function rememberChanged(store: Store, { save }: Manifest): void {
  const { run, isCopy } = store;
  if (run === null || isCopy) return;
  try {
    suspect({ ...store, run }, [save]);
  } catch {
    // A full or read-only volume.
  }
}

/** Records that the disk has failed: every byte is read until a deep check passes. */
export function rememberSuspicion(store: Store): void {
  const { run } = store;
  if (run === null) return;
  const cache = readCache(store) ?? UNKNOWN;
  writeCache({ ...store, run }, { ...cache, isSuspect: true });
}

/**
 * Like {@link storeError}; after a failure of the disk itself, the next resume also reads every
 * byte.
 */
export function storeFailure(store: Store, thrown: unknown, doing: string, path: string): unknown {
  if (isDiskError(thrown)) rememberSuspicion(store);
  return storeError(thrown, doing, path);
}

/**
 * Records a committed save as the last good one. If a newer attempt disagrees, the scan shows it.
 */
export function rememberSealed(store: OpenStore, name: string, { save, bootId }: Manifest): void {
  const { isSuspect, suspects } = readCache(store) ?? UNKNOWN;
  writeCache(store, { name, save, bootIds: bootId === null ? [] : [bootId], isSuspect, suspects });
}
