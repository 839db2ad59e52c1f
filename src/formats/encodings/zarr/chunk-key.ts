/**
 * The target of a key in a store of zarr arrays: the description of an array, or one of its chunks.
 */
export type ArrayKey =
  | { readonly kind: 'metadata'; readonly array: string }
  | { readonly kind: 'chunk'; readonly array: string; readonly at: readonly number[] };

/** The most dimensions in a key; real arrays have fewer. */
const MAX_DIMENSIONS = 64;
const METADATA_NAME = { 2: '.zarray', 3: 'zarr.json' } as const;

/**
 * Splits a key; returns null when it belongs to no array. A bare array at the root has the empty
 * name.
 */
export function parseArrayKey(key: string, version: 2 | 3): ArrayKey | null {
  const slash = key.lastIndexOf('/');
  const last = key.slice(slash + 1);
  const folder = slash < 0 ? '' : key.slice(0, slash);
  if (last === METADATA_NAME[version]) return { kind: 'metadata', array: folder };
  return version === 2 ? chunkOfVersion2(folder, last) : chunkOfVersion3(key);
}

/** `name/1.0`; a scalar has the one chunk `name/0`. */
function chunkOfVersion2(array: string, last: string): ArrayKey | null {
  if (last.length > 512) return null;
  const at = last.split('.', MAX_DIMENSIONS + 1).map(numberOf);
  return at.includes(-1) || at.length > MAX_DIMENSIONS ? null : { kind: 'chunk', array, at };
}

/** `name/c/1/0`; a scalar has the one chunk `name/c`. */
function chunkOfVersion3(key: string): ArrayKey | null {
  const parts = key.split('/');
  const at: number[] = [];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (part === 'c') return { kind: 'chunk', array: parts.join('/'), at: at.reverse() };
    const number = numberOf(part);
    if (number < 0 || at.length >= MAX_DIMENSIONS) return null;
    at.push(number);
  }
  return null;
}

function numberOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : -1;
}
