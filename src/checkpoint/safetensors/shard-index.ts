import { isUtf8 } from 'node:buffer';
import { relieveMemory } from '../../core/memory.ts';
import { printable } from '../../core/printable.ts';
import type { Findings } from '../findings.ts';
import { isObject, type Json, parseJson } from '../json.ts';
import { LIMITS } from '../limits.ts';
import type { Directory } from '../source/directory.ts';
import { SourceError } from '../source/source-error.ts';
import { HeaderError, JsonCursor } from './json-cursor.ts';

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
  relieveMemory();
  cache.set(directory, { name, result });
  return result;
}

function parse(directory: Directory, name: string): ReadIndex {
  try {
    const { size } = directory.entries.get(name) ?? { size: 0 };
    if (size > LIMITS.documentBytes) return { limit: true, reason: `longer than the ${LIMITS.documentBytes} bytes that are parsed` };
    const source = directory.open(name);
    return parseIndex(source.read(0, source.size));
  } catch (thrown) {
    if (thrown instanceof SourceError) return { limit: false, reason: thrown.message };
    if (thrown instanceof HeaderError) return { limit: thrown.limit, reason: `${thrown.message}, at byte ${thrown.offset}` };
    throw thrown;
  }
}

/** Token by token: the tree that `JSON.parse` builds of the largest indexes takes more memory than everything else. */
function parseIndex(bytes: Buffer): ReadIndex {
  if (!isUtf8(bytes)) return { limit: false, reason: 'bytes that are not UTF-8' };
  const cursor = new JsonCursor(bytes);
  let files: ReadonlyMap<string, string> | null = null;
  let totalSize: number | null = null;
  cursor.object((key) => {
    if (key === 'weight_map') files = filesOfTensors(cursor);
    else totalSize = totalSizeIn(key, readValue(cursor, bytes)) ?? totalSize;
  });
  if (cursor.peek() !== -1) throw new HeaderError(cursor.position, 'something after the closing brace');
  if (files === null) return { limit: false, reason: 'no object `weight_map` in it' };
  return { index: { tensors: tensorsOfFiles(files), totalSize } };
}

/** The file of each tensor; of one that is named twice the last, as in every reader of JSON. */
function filesOfTensors(cursor: JsonCursor): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  /** Every file is named by many tensors: one text for all of them. */
  const names = new Map<string, string>();
  cursor.object((tensor, offset) => {
    const written = cursor.string();
    const file = names.get(written) ?? written;
    if (file === written) names.set(file, file);
    files.set(tensor, file);
    if (files.size > MOST_TENSORS) throw new HeaderError(offset, `more than ${MOST_TENSORS} tensors in its \`weight_map\``, true);
    if (names.size > MOST_FILES) throw new HeaderError(offset, `more than ${MOST_FILES} files in its \`weight_map\``, true);
  });
  return files;
}

function tensorsOfFiles(files: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const tensors = new Map<string, string[]>();
  for (const [tensor, file] of files) {
    const listed = tensors.get(file);
    if (listed === undefined) tensors.set(file, [tensor]);
    else listed.push(tensor);
  }
  return tensors;
}

/** A value beside the map: small, and parsed as a whole. */
function readValue(cursor: JsonCursor, bytes: Buffer): Json {
  cursor.peek();
  const start = cursor.position;
  cursor.skip();
  const parsed = parseJson(bytes.toString('utf8', start, cursor.position));
  if (!parsed.ok) throw new HeaderError(start, parsed.reason, parsed.limit);
  return parsed.value;
}

function totalSizeIn(key: string, value: Json): number | null {
  const size = key === 'metadata' && isObject(value) ? value['total_size'] : undefined;
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
