import {
  argsOf,
  asDict,
  asInt,
  asItems,
  asString,
  attribute,
  callOf,
  globalName,
  isNode,
  type PickleDict,
  type PickleNode,
  type PickleValue,
  typeName,
} from '../pickle/value.ts';

/** A box inside a tensor: where it begins and how far it reaches, in every dimension. */
export interface Chunk {
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
}

export interface TensorItem {
  /** Element type without the module: `float32`; null when it is not a plain one. */
  readonly dtype: string | null;
  readonly size: readonly number[];
  readonly chunks: readonly Chunk[];
}

/** Where one chunk, or one object, lies. */
export interface StoredItem {
  readonly name: string;
  /** First element of the chunk; null for an object. */
  readonly offsets: readonly number[] | null;
  readonly file: string;
  readonly start: number;
  readonly length: number;
  /** True when the bytes went through an extension (compression), so that they are no torch file as they lie. */
  readonly isTransformed: boolean;
}

/** What `.metadata` says: which tensors and objects there are, and where their bytes lie. */
export interface DcpMetadata {
  readonly tensors: ReadonlyMap<string, TensorItem>;
  readonly objects: ReadonlySet<string>;
  readonly stored: readonly StoredItem[];
  /** Last part of the path it was saved to. */
  readonly savedAs: string | null;
}

/** A part of the metadata that is not of the shape the writer gives it, or of which there is too much. */
export interface Misshapen {
  readonly misshapen: string;
  readonly limit: boolean;
}

const METADATA = 'torch.distributed.checkpoint.metadata.Metadata';
const TENSOR = 'torch.distributed.checkpoint.metadata.TensorStorageMetadata';
/** A pickle can refer to one list of chunks from very many tensors, so what is taken out of it has its own bounds. */
const MOST_CHUNKS = 300_000;
const MOST_DIMENSIONS = 64;

/** Takes from the inert pickle what a reader of the checkpoint would need. */
export function readDcpMetadata(value: PickleValue): DcpMetadata | Misshapen {
  if (typeName(value) !== METADATA) return misshapen(`an object of type ${typeName(value) ?? 'other than Metadata'}`);
  const items = asDict(attribute(value, 'state_dict_metadata'));
  const storage = asDict(attribute(value, 'storage_data'));
  if (items === null || storage === null) return misshapen('no state_dict_metadata or no storage_data');
  const savedAs = readPath(attribute(attribute(value, 'storage_meta'), 'checkpoint_id'));
  return new MetadataReader().read(items, storage, savedAs);
}

function misshapen(what: string, limit = false): Misshapen {
  return { misshapen: what, limit };
}

class MetadataReader {
  readonly #tensors = new Map<string, TensorItem>();
  readonly #objects = new Set<string>();
  readonly #stored: StoredItem[] = [];
  /** Shapes and boxes are shared in the pickle; they stay shared here. */
  readonly #sizes = new Map<PickleNode, readonly number[] | null>();
  #chunks = 0;

  read(items: PickleDict, storage: PickleDict, savedAs: string | null): DcpMetadata | Misshapen {
    const fault = this.#readItems(items) ?? this.#readStorage(storage);
    return fault ?? { tensors: this.#tensors, objects: this.#objects, stored: this.#stored, savedAs };
  }

  #readItems({ keys, values }: PickleDict): Misshapen | null {
    for (const [index, key] of keys.entries()) {
      const entry = values[index];
      if (typeof key !== 'string') return misshapen('a name that is not text');
      if (typeName(entry) !== TENSOR) this.#objects.add(key);
      else this.#tensors.set(key, this.#tensor(entry));
      if (this.#chunks > MOST_CHUNKS) return misshapen(`more than ${MOST_CHUNKS} chunks`, true);
    }
    return null;
  }

  #readStorage({ keys, values }: PickleDict): Misshapen | null {
    if (keys.length > MOST_CHUNKS) return misshapen(`${keys.length} entries of storage_data; at most ${MOST_CHUNKS} are read`, true);
    for (const [index, key] of keys.entries()) {
      const item = this.#storedItem(key, values[index]);
      if (item === null) return misshapen(`an entry of storage_data (number ${index}) without name, file, offset or length`);
      this.#stored.push(item);
    }
    return null;
  }

  #tensor(value: PickleValue | undefined): TensorItem {
    const chunks: Chunk[] = [];
    for (const chunk of asItems(attribute(value, 'chunks')) ?? []) {
      if (++this.#chunks > MOST_CHUNKS) break;
      chunks.push({ offsets: this.#size(attribute(chunk, 'offsets')) ?? [], sizes: this.#size(attribute(chunk, 'sizes')) ?? [] });
    }
    return { dtype: readDtype(attribute(value, 'properties')), size: this.#size(attribute(value, 'size')) ?? [], chunks };
  }

  #storedItem(key: PickleValue, value: PickleValue | undefined): StoredItem | null {
    const name = asString(attribute(key, 'fqn'));
    const file = asString(attribute(value, 'relative_path'));
    const start = asInt(attribute(value, 'offset'));
    const length = asInt(attribute(value, 'length'));
    if (name === null || file === null || start === null || length === null || start < 0 || length < 0) return null;
    const transforms = asItems(attribute(value, 'transform_descriptors'));
    return { name, offsets: this.#size(attribute(key, 'offset')), file, start, length, isTransformed: (transforms?.length ?? 0) > 0 };
  }

  /** `torch.Size((4, 8))`: a call with one tuple. */
  #size(value: PickleValue | undefined): readonly number[] | null {
    if (!isNode(value)) return null;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    const call = callOf(value);
    const size = readNumbers(call === null ? asItems(value) : asItems(argsOf(call)[0]));
    this.#sizes.set(value, size);
    return size;
  }
}

function readNumbers(items: readonly PickleValue[] | null): readonly number[] | null {
  if (items === null || items.length > MOST_DIMENSIONS) return null;
  const numbers: number[] = [];
  for (const item of items) {
    const number = asInt(item);
    if (number === null || number < 0) return null;
    numbers.push(number);
  }
  return numbers;
}

/** `TensorProperties` hands a tuple to `__setstate__`, the element type first; older ones are plain dictionaries. */
function readDtype(properties: PickleValue | undefined): string | null {
  const state = callOf(properties)?.state;
  const dtype = asItems(state)?.[0] ?? attribute(properties, 'dtype');
  const name = globalName(dtype);
  return name?.startsWith('torch.') === true ? name.slice('torch.'.length) : null;
}

/** Text, or a path object, which is pickled as a call with the parts of the path. */
function readPath(value: PickleValue | undefined): string | null {
  const call = callOf(value);
  const path = call === null ? asString(value) : asString(argsOf(call).at(-1));
  return path?.replace(/\/$/, '').split('/').at(-1) ?? null;
}
