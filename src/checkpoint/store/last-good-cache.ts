import { isArray, isObject, parseJson } from '../json.ts';
import { at } from './layout.ts';
import type { Manifest } from './manifest.ts';
import { replaceFile } from './replace-file.ts';
import type { OpenStore, Store } from './store.ts';
import { isDiskError, isInputOutputError, storeError } from './store-error.ts';

const CACHE_SCHEMA = 'holdfast.last-good/1';
/** Lives of kernels that are remembered; a run rarely sees more nodes at a time. */
const MAX_BOOTS = 64;
/** Saves that are remembered as suspects, the newest findings. */
const MAX_SUSPECTS = 64;

/**
 * What was found last time. Only a cache: the truth is what a scan finds. It saves reading every byte again when nothing suggests that
 * they changed since, and says where something does.
 */
export interface LastGoodCache {
  readonly name: string;
  readonly save: string;
  /** The lives of kernels in which the bytes were written or read and matched. */
  readonly bootIds: readonly string[];
  /** An I/O error was met since; until a deep check passes nothing is taken on trust. */
  readonly isSuspect: boolean;
  /** Saves that were found bad, or changed since they were sealed, and lie in the run: each is read whole before it is taken again. */
  readonly suspects: readonly string[];
}

/** Of a store in which nothing was found yet. */
const UNKNOWN: LastGoodCache = { name: '', save: '', bootIds: [], isSuspect: false, suspects: [] };

/** Null when there is none, or none that can be understood. Where the disk does not tell, nobody knows which are suspects: nothing is taken on trust. */
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

/** Replaces the pointer. It may fail without harm: nothing is decided by it, and the next scan finds the same. */
export function writeCache(store: OpenStore, cache: LastGoodCache): void {
  try {
    replaceCache(store, cache);
  } catch {
    // A full or read-only volume: the cache stays as it was, and a stale one only makes the next check more thorough.
  }
}

function replaceCache(store: OpenStore, cache: LastGoodCache): void {
  const bounded = { bootIds: cache.bootIds.slice(-MAX_BOOTS), suspects: cache.suspects.slice(-MAX_SUSPECTS) };
  replaceFile(store.fs, at.lastGoodFile(store.path), `${JSON.stringify({ schema: CACHE_SCHEMA, ...cache, ...bounded })}\n`, store.makeId());
}

/** These were found bad, or changed: they are durably remembered when this returns, and until every byte of one was read and matches it is not taken. */
export function suspect(store: OpenStore, saves: readonly string[]): void {
  const cache = readCache(store) ?? UNKNOWN;
  const suspects = [...new Set([...cache.suspects.filter((save) => !saves.includes(save)), ...saves])];
  if (JSON.stringify(suspects) !== JSON.stringify(cache.suspects)) replaceCache(store, { ...cache, suspects });
}

/** The same for one that somebody has found changed on the way to something else; where it cannot be written the error that led here is the one to tell. */
export function rememberChanged(store: Store, { save }: Manifest): void {
  const { run, isCopy } = store;
  if (run === null || isCopy) return;
  try {
    suspect({ ...store, run }, [save]);
  } catch {
    // A full or read-only volume.
  }
}

/** The disk has failed: until a deep check passes nothing is taken on trust. */
export function rememberSuspicion(store: Store): void {
  const { run } = store;
  if (run === null) return;
  const cache = readCache(store) ?? UNKNOWN;
  writeCache({ ...store, run }, { ...cache, isSuspect: true });
}

/** The same as {@link storeError}; where the disk itself has failed, whoever resumes next reads every byte. */
export function storeFailure(store: Store, thrown: unknown, doing: string, path: string): unknown {
  if (isDiskError(thrown)) rememberSuspicion(store);
  return storeError(thrown, doing, path);
}

/** After a commit: this one is the last good, unless a newer attempt has its own opinion, which a scan will tell. */
export function rememberSealed(store: OpenStore, name: string, { save, bootId }: Manifest): void {
  const { isSuspect, suspects } = readCache(store) ?? UNKNOWN;
  writeCache(store, { name, save, bootIds: bootId === null ? [] : [bootId], isSuspect, suspects });
}
