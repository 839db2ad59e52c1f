import { isUtf8 } from 'node:buffer';
import { relieveMemory } from '../../core/memory.ts';
import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { isObject, type Json, parseJson } from '../../core/json.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { SourceError } from '../../bytes/source/source-error.ts';
import { HeaderError, JsonCursor } from './json-cursor.ts';

/** The content of `model.safetensors.index.json`. */
export interface ShardIndex {
  /** The tensors of each file it names, in the order of first mention. */
  readonly tensors: ReadonlyMap<string, readonly string[]>;
  readonly totalSize: number | null;
}

/** The shard index, or the reason for refusing it. */
export type ReadIndex = { readonly index: ShardIndex } | { readonly limit: boolean; readonly reason: string };

/** The most files that an index may name: their numbers have five digits. */
const MOST_FILES = 100_000;
/** The most tensors that an index may name: twice the number in the largest models. */
const MOST_TENSORS = 300_000;

/** The last index read, for each folder. */
const cache = new WeakMap<Directory, { readonly name: string; readonly result: ReadIndex }>();

/**
 * Reads an index. The caller needs it to group the files and again to inspect them; a folder with
 * one index parses it once.
 */
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

/**
 * Parses token by token, because for the largest indexes the tree of `JSON.parse` takes more memory
 * than everything else.
 */
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

/**
 * Maps each tensor to its file. When the index names a tensor twice, the last entry wins, as in
 * every JSON parser.
 */
function filesOfTensors(cursor: JsonCursor): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  /** Shares one string per file name, because many tensors name the same file. */
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

/** Reads a value beside the map: it is small, so it is parsed as a whole. */
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
  // Some writers store the total as a float (`1624.0`), which JSON.parse turns into a whole number.
  return typeof size === 'number' && Number.isSafeInteger(size) ? size : null;
}

/** Returns the index, or null with evidence that explains why. */
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
