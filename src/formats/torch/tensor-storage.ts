import { asInt, asItems, asString, isNode, type PicklePersistent, type PickleValue, rawBytes } from '../encodings/pickle/value.ts';
import { storageElementBytes } from '../reading/element-sizes.ts';

/** Tensor data a pickle refers to. */
export interface TorchStorage {
  readonly key: string;
  /** Name of the storage class, without its module: `FloatStorage`. */
  readonly type: string;
  readonly elementBytes: number;
  readonly elements: number;
  /** Device of the storage when the trainer saved it: `cpu`, `cuda:0`. */
  readonly location: string;
  /** `elements` × `elementBytes`. */
  readonly bytes: number;
  /** Offset of its first byte in the source; null when the data is missing. */
  offset: number | null;
}

/**
 * What is wrong with a reference; completes a sentence that starts with "a reference to tensor
 * data".
 */
export interface BadReference {
  readonly problem: string;
}

/**
 * The meaning of a persistent id: a storage, a class (`module`, in old files), or nothing that
 * PyTorch knows.
 */
export function storageOf({ id }: PicklePersistent): TorchStorage | 'class' | BadReference {
  const parts = asItems(id);
  if (parts === null) return { problem: 'is no tuple' };
  const kind = textOf(parts[0]);
  if (kind === 'module' && parts.length >= 2) return 'class';
  if (kind !== 'storage' || parts.length < 5) return { problem: 'is not of the shape (storage, type, key, device, count)' };
  const [, type, key, location, count] = parts;
  const typed = elementOf(type);
  if ('problem' in typed) return typed;
  const elements = asInt(count);
  const name = keyOf(key);
  if (elements === null || elements < 0 || name === null) return { problem: 'has no key or no number of elements' };
  return { key: name, ...typed, elements, location: textOf(location) ?? '', bytes: elements * typed.elementBytes, offset: null };
}

function elementOf(type: PickleValue | undefined): Pick<TorchStorage, 'type' | 'elementBytes'> | BadReference {
  if (!isNode(type) || type.kind !== 'global') return { problem: 'has no storage type' };
  const elementBytes = storageElementBytes(type.module, type.name);
  if (elementBytes !== null) return { type: type.name, elementBytes };
  return { problem: `names the storage type ${type.module}.${type.name}, which PyTorch does not have` };
}

/** The key of a storage: text, or a number in very old files. */
export function keyOf(value: PickleValue | undefined): string | null {
  return textOf(value) ?? asInt(value)?.toString() ?? null;
}

/** Text, also in the form that Python 2 wrote. */
function textOf(value: PickleValue | undefined): string | null {
  return asString(value) ?? rawBytes(value)?.toString('latin1') ?? null;
}
