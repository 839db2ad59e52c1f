import { randomUUID } from 'node:crypto';
import { HoldfastError } from '../../core/errors.ts';
import { isArray, isObject, type Json, parseJson } from '../json.ts';
import { at } from '../store/layout.ts';
import type { SealedCheckpoint } from '../store/scan.ts';
import { replaceFile } from '../store/replace-file.ts';
import { openRun, type Store } from '../store/store.ts';
import { isCode, storeError } from '../store/store-error.ts';

const SHIPPED_SCHEMA = 'holdfast.shipped/1';

/** A copy whose every object was proven. */
export interface ShippedCopy {
  readonly url: string;
  /** What it is called there; null where that was not noted yet, and is its own name. */
  readonly name: string | null;
  /** Wall clock, ISO 8601. */
  readonly shippedAt: string;
  readonly files: number;
  readonly bytes: number;
}

/** Where copies of a checkpoint are, as far as this folder knows; only those of exactly this save count. */
export function readShipped({ fs, path }: Store, name: string, save: string): readonly ShippedCopy[] {
  try {
    const json = parseJson(fs.readFile(at.store(path, 'shipped', `${name}.json`)).toString('utf8'));
    if (!json.ok || !isObject(json.value)) return [];
    const { schema, save: of, copies } = json.value;
    return schema === SHIPPED_SCHEMA && of === save && isArray(copies) ? copies.flatMap(readCopy) : [];
  } catch {
    return [];
  }
}

function readCopy(value: Json): readonly ShippedCopy[] {
  if (!isObject(value)) return [];
  const { url, name, shippedAt, files, bytes } = value;
  if (typeof url !== 'string' || typeof shippedAt !== 'string' || typeof files !== 'number' || typeof bytes !== 'number') return [];
  return [{ url, name: typeof name === 'string' ? name : null, shippedAt, files, bytes }];
}

/** Remembers a copy; false on a volume that cannot be written, where the copy counts all the same. */
export function recordShipped(store: Store, { name, manifest: { save, run } }: SealedCheckpoint, copy: ShippedCopy): boolean {
  const { fs, path } = store;
  const others = readShipped(store, name, save).filter(({ url }) => url !== copy.url);
  const text = `${JSON.stringify({ schema: SHIPPED_SCHEMA, name, save, copies: [...others, copy] }, null, 2)}\n`;
  try {
    makeFolder(store, run);
    replaceFile(fs, at.store(path, 'shipped', `${name}.json`), text, randomUUID());
    return true;
  } catch (thrown) {
    const error = storeError(thrown, 'record the copy in', at.store(path, 'shipped'));
    if (error instanceof HoldfastError && (error.code === 'STORE_NOT_WRITABLE' || error.code === 'STORE_FULL')) return false;
    throw error;
  }
}

/** The folder of the run's own things is only ever made as a whole, with its identity. */
function makeFolder(store: Store, run: string): void {
  const { fs, path } = store;
  if (store.run === null) openRun(path, { ...store, run });
  try {
    fs.mkdir(at.store(path, 'shipped'));
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}
