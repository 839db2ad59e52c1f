import { isArray, isObject, parseJson } from '../json.ts';
import { at } from './layout.ts';
import type { Manifest } from './manifest.ts';
import { replaceFile } from './replace-file.ts';
import type { OpenStore, Store } from './store.ts';
import { isDiskError, storeError } from './store-error.ts';

const CACHE_SCHEMA = 'holdfast.last-good/1';
/** Lives of kernels that are remembered; a run rarely sees more nodes at a time. */
const MAX_BOOTS = 64;

/**
 * What was found last time. Only a cache: the truth is what a scan finds. It saves reading every byte again when nothing suggests that
 * they changed since.
 */
export interface LastGoodCache {
  readonly name: string;
  readonly save: string;
  /** The lives of kernels in which the bytes were written or read and matched. */
  readonly bootIds: readonly string[];
  /** An I/O error was met since; until a deep check passes nothing is taken on trust. */
  readonly isSuspect: boolean;
}

export function readCache({ fs, path }: Store): LastGoodCache | null {
  try {
    const json = parseJson(fs.readFile(at.lastGoodFile(path)).toString('utf8'));
    if (!json.ok || !isObject(json.value)) return null;
    const { schema, name, save, bootIds, isSuspect } = json.value;
    if (schema !== CACHE_SCHEMA || typeof name !== 'string' || typeof save !== 'string' || !isArray(bootIds)) return null;
    return { name, save, bootIds: bootIds.filter((id) => typeof id === 'string'), isSuspect: isSuspect === true };
  } catch {
    return null;
  }
}

/** Replaces the pointer. It may fail without harm: nothing is decided by it, and the next scan finds the same. */
export function writeCache(store: OpenStore, cache: LastGoodCache): void {
  try {
    const text = `${JSON.stringify({ schema: CACHE_SCHEMA, ...cache, bootIds: cache.bootIds.slice(-MAX_BOOTS) })}\n`;
    replaceFile(store.fs, at.lastGoodFile(store.path), text, store.makeId());
  } catch {
    // A full or read-only volume: the cache stays as it was, and a stale one only makes the next check more thorough.
  }
}

/** The disk has failed: until a deep check passes nothing is taken on trust. */
export function rememberSuspicion(store: Store): void {
  const { run } = store;
  if (run === null) return;
  const cache = readCache(store) ?? { name: '', save: '', bootIds: [] };
  writeCache({ ...store, run }, { ...cache, isSuspect: true });
}

/** The same as {@link storeError}; where the disk itself has failed, whoever resumes next reads every byte. */
export function storeFailure(store: Store, thrown: unknown, doing: string, path: string): unknown {
  if (isDiskError(thrown)) rememberSuspicion(store);
  return storeError(thrown, doing, path);
}

/** After a commit: this one is the last good, unless a newer attempt has its own opinion, which a scan will tell. */
export function rememberSealed(store: OpenStore, name: string, { save, bootId }: Manifest): void {
  const isSuspect = readCache(store)?.isSuspect ?? false;
  writeCache(store, { name, save, bootIds: bootId === null ? [] : [bootId], isSuspect });
}
