import { createHash, randomUUID } from 'node:crypto';
import { isArray, isObject, type Json, parseJson } from '../../core/json.ts';
import { at } from '../../seal/names.ts';
import type { SealedCheckpoint } from '../../store/folder/scan.ts';
import { replaceFile } from '../../store/disk/replace-file.ts';
import { openRun, type Store } from '../../store/folder/store.ts';
import { isCode } from '../../store/disk/store-error.ts';

const SHIPPED_SCHEMA = 'holdfast.shipped/1';
/** Leaves room for the file's ending and for the ending of its temporary file. */
const MOST_NAME_BYTES = 200;

/** A copy whose every object was proven. */
export interface ShippedCopy {
  readonly url: string;
  /** The name of the copy there; null in an older record, where it is the checkpoint's own name. */
  readonly name: string | null;
  /** Wall clock, ISO 8601. */
  readonly shippedAt: string;
  readonly files: number;
  readonly bytes: number;
}

/**
 * Reads where copies of a checkpoint are, as far as this folder knows. Only copies of exactly this
 * save count.
 */
export function readShipped({ fs, path }: Store, name: string, save: string): readonly ShippedCopy[] {
  try {
    const json = parseJson(fs.readFile(recordFile(path, name)).toString('utf8'));
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

/** Records a copy in the folder of the run; false where that fails. The copy counts either way. */
export function recordShipped(store: Store, { name, manifest: { save, run } }: SealedCheckpoint, copy: ShippedCopy): boolean {
  const { fs, path } = store;
  const others = readShipped(store, name, save).filter(({ url }) => url !== copy.url);
  const text = `${JSON.stringify({ schema: SHIPPED_SCHEMA, name, save, copies: [...others, copy] }, null, 2)}\n`;
  try {
    makeFolder(store, run);
    replaceFile(fs, recordFile(path, name), text, randomUUID());
    return true;
  } catch {
    // The copy is proven and can be fetched. An error here would say the opposite.
    return false;
  }
}

/** The path of a record. A name of full length leaves no room for an ending, so it is shortened. */
function recordFile(run: string, name: string): string {
  const file = Buffer.byteLength(name) <= MOST_NAME_BYTES ? name : createHash('sha256').update(name).digest('hex');
  return at.store(run, 'shipped', `${file}.json`);
}

/**
 * Makes the folder for records. Holdfast makes the run's own folder only as a whole, with its
 * identity.
 */
function makeFolder(store: Store, run: string): void {
  const { fs, path } = store;
  if (store.run === null) openRun(path, { ...store, run });
  try {
    fs.mkdir(at.store(path, 'shipped'));
  } catch (thrown) {
    if (!isCode(thrown, 'EEXIST')) throw thrown;
  }
}
