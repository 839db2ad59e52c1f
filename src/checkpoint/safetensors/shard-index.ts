import { printable } from '../../core/printable.ts';
import type { Findings } from '../findings.ts';
import { isObject, type JsonObject, parseJson } from '../json.ts';
import { LIMITS } from '../limits.ts';
import type { Directory } from '../source/directory.ts';
import { SourceError } from '../source/source-error.ts';

/** What `model.safetensors.index.json` says. */
export interface ShardIndex {
  /** The tensors of each file it names, in the order of first mention. */
  readonly tensors: ReadonlyMap<string, readonly string[]>;
  readonly totalSize: number | null;
}

export type ReadIndex = { readonly index: ShardIndex } | { readonly limit: boolean; readonly reason: string };

/** Most files that an index may name: their numbers have five digits. */
const MOST_FILES = 100_000;
/** Twice what the largest models have. */
const MOST_TENSORS = 300_000;

/** The last index that was read of each folder. */
const cache = new WeakMap<Directory, { readonly name: string; readonly result: ReadIndex }>();

/** Reads an index. It is asked for when the files are grouped and again when they are inspected; where it is the only one it is parsed once. */
export function readShardIndex(directory: Directory, name: string): ReadIndex {
  const known = cache.get(directory);
  if (known?.name === name) return known.result;
  cache.delete(directory);
  const result = parse(directory, name);
  cache.set(directory, { name, result });
  return result;
}

function parse(directory: Directory, name: string): ReadIndex {
  const text = readText(directory, name);
  if (text instanceof SourceError) return { limit: false, reason: text.message };
  if (text === null) return { limit: true, reason: `longer than the ${LIMITS.documentBytes} bytes that are parsed` };
  const parsed = parseJson(text);
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  const map = isObject(value) ? value['weight_map'] : undefined;
  if (!isObject(value) || !isObject(map)) return { limit: false, reason: 'no object `weight_map` in it' };
  const tensors = new Map<string, string[]>();
  // Pairs of a million keys would take more than the keys themselves.
  const names = Object.keys(map);
  if (names.length > MOST_TENSORS) return { limit: true, reason: `more than ${MOST_TENSORS} tensors in its \`weight_map\`` };
  for (const tensor of names) {
    const file = map[tensor];
    if (typeof file !== 'string') return { limit: false, reason: 'a `weight_map` with values other than file names' };
    const listed = tensors.get(file);
    if (listed === undefined) tensors.set(file, [tensor]);
    else listed.push(tensor);
    if (tensors.size > MOST_FILES) return { limit: true, reason: `more than ${MOST_FILES} files in its \`weight_map\`` };
  }
  return { index: { tensors, totalSize: totalSize(value) } };
}

function readText(directory: Directory, name: string): string | null | SourceError {
  try {
    return directory.readText(name);
  } catch (thrown) {
    if (thrown instanceof SourceError) return thrown;
    throw thrown;
  }
}

function totalSize(document: JsonObject): number | null {
  const metadata = document['metadata'];
  const size = isObject(metadata) ? metadata['total_size'] : undefined;
  // Some writers store it as a float (`1624.0`), which JSON.parse makes a whole number again.
  return typeof size === 'number' && Number.isSafeInteger(size) ? size : null;
}

/** The index, or null and the evidence for why not. */
export function expectShardIndex(directory: Directory, name: string, findings: Findings): ShardIndex | null {
  const read = readShardIndex(directory, name);
  if ('index' in read) return read.index;
  const file = directory.pathOf(name);
  findings.add(
    read.limit ? 'LIMIT_EXCEEDED' : 'DOCUMENT_INVALID',
    { file, found: printable(read.reason) },
    `the index ${printable(file)} cannot be used: ${printable(read.reason)}`,
  );
  return null;
}
