import { argsOf, asInt, asItems, asString, attribute, callOf, globalName, isNode, type PickleValue } from '../encodings/pickle/value.ts';
import type { Chunk } from './chunks.ts';
import type { StoredItem } from './stored-table.ts';

const MOST_DIMENSIONS = 64;
const METADATA = 'torch.distributed.checkpoint.metadata';

/** Returns true for an object of one of the metadata's own classes. */
export function isOf(value: PickleValue | undefined, name: string): boolean {
  if (!isNode(value) || value.kind !== 'call') return false;
  const { callable } = value;
  return isNode(callable) && callable.kind === 'global' && callable.name === name && callable.module === METADATA;
}

/** `torch.Size((4, 8))`: a call with one tuple. */
export function readSize(value: PickleValue | undefined): readonly number[] | null {
  const call = callOf(value);
  const items = call === null ? asItems(value) : asItems(argsOf(call)[0]);
  if (items === null || items.length > MOST_DIMENSIONS) return null;
  const numbers: number[] = [];
  for (const item of items) {
    const number = asInt(item);
    if (number === null || number < 0) return null;
    numbers.push(number);
  }
  return numbers;
}

/** Reads a chunk of a tensor from its pickled value. */
export function readChunk(value: PickleValue): Chunk {
  return { offsets: readSize(attribute(value, 'offsets')) ?? [], sizes: readSize(attribute(value, 'sizes')) ?? [] };
}

/** Reads an entry of `storage_data`; returns null when it lacks a field. */
export function readStored(key: PickleValue | undefined, value: PickleValue | undefined): StoredItem | null {
  const name = asString(attribute(key, 'fqn'));
  const file = asString(attribute(value, 'relative_path'));
  const start = asInt(attribute(value, 'offset'));
  const length = asInt(attribute(value, 'length'));
  if (name === null || file === null || start === null || length === null || start < 0 || length < 0) return null;
  const transforms = asItems(attribute(value, 'transform_descriptors'));
  return { name, offsets: readSize(attribute(key, 'offset')), file, start, length, isTransformed: (transforms?.length ?? 0) > 0 };
}

/**
 * Reads the element type. `TensorProperties` hands a tuple to `__setstate__` with the element type
 * first; older versions are plain dictionaries.
 */
export function readDtype(properties: PickleValue | undefined): string | null {
  const state = callOf(properties)?.state;
  const dtype = asItems(state)?.[0] ?? attribute(properties, 'dtype');
  const name = globalName(dtype);
  return name?.startsWith('torch.') === true ? name.slice('torch.'.length) : null;
}
