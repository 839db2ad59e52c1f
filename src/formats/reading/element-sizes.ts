/** Bytes of one element, by the name of the storage class that a pickle refers to. */
const STORAGE_ELEMENT_BYTES: Readonly<Record<string, number>> = {
  DoubleStorage: 8,
  FloatStorage: 4,
  HalfStorage: 2,
  BFloat16Storage: 2,
  LongStorage: 8,
  IntStorage: 4,
  ShortStorage: 2,
  CharStorage: 1,
  ByteStorage: 1,
  BoolStorage: 1,
  ComplexFloatStorage: 8,
  ComplexDoubleStorage: 16,
  QInt8Storage: 1,
  QUInt8Storage: 1,
  QInt32Storage: 4,
  QUInt4x2Storage: 1,
  QUInt2x4Storage: 1,
  // Counted in bytes: how types without a storage class of their own (float8, uint16, …) are saved.
  UntypedStorage: 1,
  _UntypedStorage: 1,
};

const STORAGE_MODULES = /^torch(\.(storage|cuda|xpu|hpu|npu|mps|mtia|privateuse1))?$/;

/** Bytes of one element of a storage class, or null when PyTorch has no such class. */
export function storageElementBytes(module: string, name: string): number | null {
  return STORAGE_MODULES.test(module) && Object.hasOwn(STORAGE_ELEMENT_BYTES, name) ? (STORAGE_ELEMENT_BYTES[name] ?? null) : null;
}

/** Full names of every storage class, for the list of names that a load may import. */
export const STORAGE_CLASSES: readonly string[] = Object.keys(STORAGE_ELEMENT_BYTES);

/** How the bytes of a single number are read. */
export type ScalarKind = 'float' | 'signed' | 'unsigned' | 'bfloat16';

/** How a single number of a storage class is read; classes that are not listed are not read. */
export const SCALAR_KINDS: Readonly<Record<string, ScalarKind>> = {
  DoubleStorage: 'float',
  FloatStorage: 'float',
  BFloat16Storage: 'bfloat16',
  LongStorage: 'signed',
  IntStorage: 'signed',
  ShortStorage: 'signed',
  CharStorage: 'signed',
  ByteStorage: 'unsigned',
};
