import { asInt, asItems, asString, isNode, type PicklePersistent, type PickleValue, rawBytes } from '../pickle/value.ts';
import { storageElementBytes } from './element-sizes.ts';

/** Tensor data a pickle refers to. */
export interface TorchStorage {
  readonly key: string;
  /** Name of the storage class, without its module: `FloatStorage`. */
  readonly type: string;
  readonly elementBytes: number;
  readonly elements: number;
  /** Device it lived on when it was saved: `cpu`, `cuda:0`. */
  readonly location: string;
  /** `elements` × `elementBytes`. */
  readonly bytes: number;
  /** Where its first byte lies in the source; null when the data is not there. */
  offset: number | null;
}

/** What a persistent id stands for: a storage, a class (`module`, old files), or what is wrong with it. */
export function storageOf({ id }: PicklePersistent): TorchStorage | 'class' | string {
  const parts = asItems(id);
  if (parts === null) return 'is no tuple';
  const kind = textOf(parts[0]);
  if (kind === 'module' && parts.length >= 2) return 'class';
  if (kind !== 'storage' || parts.length < 5) return 'is not of the shape (storage, type, key, device, count)';
  const [, type, key, location, count] = parts;
  if (!isNode(type) || type.kind !== 'global') return 'has no storage type';
  const elementBytes = storageElementBytes(type.module, type.name);
  if (elementBytes === null) return `names the storage type ${type.module}.${type.name}, which PyTorch does not have`;
  const elements = asInt(count);
  const name = textOf(key) ?? asInt(key)?.toString() ?? null;
  if (elements === null || elements < 0 || name === null) return 'has no key or no number of elements';
  return {
    key: name,
    type: type.name,
    elementBytes,
    elements,
    location: textOf(location) ?? '',
    bytes: elements * elementBytes,
    offset: null,
  };
}

/** Text, also as Python 2 wrote it. */
function textOf(value: PickleValue | undefined): string | null {
  return asString(value) ?? rawBytes(value)?.toString('latin1') ?? null;
}
