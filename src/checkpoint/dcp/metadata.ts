import { asDict, asInt, asItems, argsOf, asString, attribute, callOf, globalName, type PickleValue, typeName } from '../pickle/value.ts';

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

/** A part of the metadata that is not of the shape the writer gives it. */
export interface Misshapen {
  readonly misshapen: string;
}

const METADATA = 'torch.distributed.checkpoint.metadata.Metadata';
const TENSOR = 'torch.distributed.checkpoint.metadata.TensorStorageMetadata';

/** Takes from the inert pickle what a reader of the checkpoint would need. */
export function readDcpMetadata(value: PickleValue): DcpMetadata | Misshapen {
  if (typeName(value) !== METADATA) return { misshapen: `an object of type ${typeName(value) ?? 'other than Metadata'}` };
  const items = asDict(attribute(value, 'state_dict_metadata'));
  const storage = asDict(attribute(value, 'storage_data'));
  if (items === null || storage === null) return { misshapen: 'no state_dict_metadata or no storage_data' };
  const tensors = new Map<string, TensorItem>();
  const objects = new Set<string>();
  for (const [index, key] of items.keys.entries()) {
    const entry = items.values[index];
    if (typeof key !== 'string') return { misshapen: 'a name that is not text' };
    if (typeName(entry) !== TENSOR) objects.add(key);
    else tensors.set(key, readTensor(entry));
  }
  const stored: StoredItem[] = [];
  for (const [index, key] of storage.keys.entries()) {
    const item = readStored(key, storage.values[index]);
    if (item === null) return { misshapen: `an entry of storage_data (number ${index}) without name, file, offset or length` };
    stored.push(item);
  }
  return { tensors, objects, stored, savedAs: readPath(attribute(attribute(value, 'storage_meta'), 'checkpoint_id')) };
}

/** Text, or a path object, which is pickled as a call with the parts of the path. */
function readPath(value: PickleValue | undefined): string | null {
  const call = callOf(value);
  const path = call === null ? asString(value) : asString(argsOf(call).at(-1));
  return path?.replace(/\/+$/, '').split('/').at(-1) ?? null;
}

function readTensor(value: PickleValue | undefined): TensorItem {
  const chunks: Chunk[] = [];
  for (const chunk of asItems(attribute(value, 'chunks')) ?? []) {
    chunks.push({ offsets: readSize(attribute(chunk, 'offsets')) ?? [], sizes: readSize(attribute(chunk, 'sizes')) ?? [] });
  }
  return { dtype: readDtype(attribute(value, 'properties')), size: readSize(attribute(value, 'size')) ?? [], chunks };
}

/** `TensorProperties` hands a tuple to `__setstate__`, the element type first; older ones are plain dictionaries. */
function readDtype(properties: PickleValue | undefined): string | null {
  const state = callOf(properties)?.state;
  const dtype = asItems(state)?.[0] ?? attribute(properties, 'dtype');
  const name = globalName(dtype);
  return name?.startsWith('torch.') === true ? name.slice('torch.'.length) : null;
}

/** `torch.Size((4, 8))`: a call with one tuple. */
function readSize(value: PickleValue | undefined): readonly number[] | null {
  const call = callOf(value);
  const items = call === null ? asItems(value) : asItems(argsOf(call)[0]);
  if (items === null) return null;
  const numbers: number[] = [];
  for (const item of items) {
    const number = asInt(item);
    if (number === null || number < 0) return null;
    numbers.push(number);
  }
  return numbers;
}

function readStored(key: PickleValue, value: PickleValue | undefined): StoredItem | null {
  const name = asString(attribute(key, 'fqn'));
  const file = asString(attribute(value, 'relative_path'));
  const start = asInt(attribute(value, 'offset'));
  const length = asInt(attribute(value, 'length'));
  if (name === null || file === null || start === null || length === null || start < 0 || length < 0) return null;
  const transforms = asItems(attribute(value, 'transform_descriptors'));
  return { name, offsets: readSize(attribute(key, 'offset')), file, start, length, isTransformed: (transforms?.length ?? 0) > 0 };
}
