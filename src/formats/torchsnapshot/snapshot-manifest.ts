import { isArray, isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts';
import { parseBlockYaml } from './block-yaml.ts';

/** Bytes that the manifest places in a file. */
export interface StoredPart {
  /** `0/optimizer/state/0/exp_avg`: the rank, then the path in its state. */
  readonly path: string;
  readonly location: string;
  readonly serializer: string;
  /** Without the module: `float32`; null for an object. */
  readonly dtype: string | null;
  readonly shape: readonly number[];
  /** Begin and end in the file; null for the whole of it. */
  readonly range: readonly [number, number] | null;
}

/** The parsed manifest of a torchsnapshot. */
export interface SnapshotManifest {
  readonly worldSize: number | null;
  readonly parts: readonly StoredPart[];
  /** Whole numbers that stand in the manifest itself. */
  readonly integers: ReadonlyMap<string, number>;
  /** Every path of a value, container or not. */
  readonly paths: readonly string[];
  /** Tensors in chunks whose shape is given: shape and the boxes. */
  readonly chunked: ReadonlyMap<string, { readonly shape: readonly number[]; readonly chunks: readonly Box[] }>;
}

/** A box in the index space of a tensor. */
export interface Box {
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
}

/** The manifest, or the reason for refusing it. */
export type ReadManifest = { readonly manifest: SnapshotManifest } | { readonly limit: boolean; readonly reason: string };

/**
 * Reads `.snapshot_metadata`, which is JSON in current versions and block YAML in the first ones.
 */
export function parseManifest(text: string): ReadManifest {
  const parsed = text.trimStart().startsWith('{') ? parseJson(text) : parseBlockYaml(text);
  if (!parsed.ok) return parsed;
  const document = parsed.value;
  const entries = isObject(document) ? document['manifest'] : undefined;
  if (!isObject(document) || !isObject(entries)) return { limit: false, reason: 'no manifest in it' };
  return new ManifestReader(document).read(entries);
}

class ManifestReader {
  readonly #document: JsonObject;
  readonly #parts: StoredPart[] = [];
  readonly #integers = new Map<string, number>();
  readonly #chunked = new Map<string, { shape: readonly number[]; chunks: readonly Box[] }>();

  constructor(document: JsonObject) {
    this.#document = document;
  }

  read(entries: JsonObject): ReadManifest {
    const paths = Object.keys(entries);
    for (const path of paths) {
      const entry = entries[path];
      if (!isObject(entry) || !this.#entry(path, entry)) return { limit: false, reason: `an entry of unknown shape, ${path}` };
    }
    const worldSize = wholeNumber(this.#document['world_size']);
    return { manifest: { worldSize, parts: this.#parts, integers: this.#integers, paths, chunked: this.#chunked } };
  }

  /**
   * False when the entry lacks what its type needs. Types that are not known hold no bytes that
   * could be checked.
   */
  #entry(path: string, entry: JsonObject): boolean {
    switch (entry['type']) {
      case 'Tensor':
      case 'object':
        return this.#part(path, entry);
      case 'ShardedTensor':
      case 'DTensor':
        return this.#boxes(path, entry['shards']) !== null;
      case 'ChunkedTensor':
        return this.#chunkedTensor(path, entry);
      case 'int':
        return this.#integer(path, entry['serialized_value']);
      default:
        return typeof entry['type'] === 'string';
    }
  }

  #integer(path: string, value: Json | undefined): boolean {
    const number = typeof value === 'string' ? Number(value) : value;
    if (typeof number === 'number' && Number.isSafeInteger(number)) this.#integers.set(path, number);
    return value !== undefined;
  }

  #chunkedTensor(path: string, entry: JsonObject): boolean {
    const shape = numbers(entry['shape']);
    const chunks = this.#boxes(path, entry['chunks']);
    if (shape === null || chunks === null) return false;
    this.#chunked.set(path, { shape, chunks });
    return true;
  }

  #boxes(path: string, shards: Json | undefined): readonly Box[] | null {
    if (!isArray(shards)) return null;
    const boxes: Box[] = [];
    for (const shard of shards) {
      const tensor = isObject(shard) ? shard['tensor'] : undefined;
      if (!isObject(shard) || !isObject(tensor) || !this.#part(path, tensor)) return null;
      boxes.push({ offsets: numbers(shard['offsets']) ?? [], sizes: numbers(shard['sizes']) ?? [] });
    }
    return boxes;
  }

  #part(path: string, entry: JsonObject): boolean {
    const { location, serializer, dtype, shape } = entry as Record<string, Json | undefined>;
    if (typeof location !== 'string' || typeof serializer !== 'string') return false;
    const range = numbers(entry['byte_range']);
    const [begin, end] = range ?? [];
    if (range !== null && (begin === undefined || end === undefined || end < begin || range.length !== 2)) return false;
    this.#parts.push({
      path,
      location,
      serializer,
      dtype: typeof dtype === 'string' ? dtype.replace(/^torch\./, '') : null,
      shape: numbers(shape) ?? [],
      range: begin === undefined || end === undefined ? null : [begin, end],
    });
    return true;
  }
}

function wholeNumber(value: Json | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function numbers(value: Json | undefined): readonly number[] | null {
  if (!isArray(value)) return null;
  const found = value.map(wholeNumber);
  return found.every((number) => number !== null) ? found : null;
}
