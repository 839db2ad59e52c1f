/** Bytes of one element, by the names torch gives its element types (without the module). */
export const TORCH_DTYPE_BYTES: ReadonlyMap<string, number> = new Map([
  ['bool', 1],
  ['uint8', 1],
  ['int8', 1],
  ['float8_e4m3fn', 1],
  ['float8_e4m3fnuz', 1],
  ['float8_e5m2', 1],
  ['float8_e5m2fnuz', 1],
  ['float8_e8m0fnu', 1],
  ['int16', 2],
  ['uint16', 2],
  ['float16', 2],
  ['bfloat16', 2],
  ['int32', 4],
  ['uint32', 4],
  ['float32', 4],
  ['int64', 8],
  ['uint64', 8],
  ['float64', 8],
  ['complex64', 8],
  ['complex128', 16],
]);

/**
 * The value of a tensor with one element, from its bytes; null for types that do not count things.
 */
export function torchScalar(dtype: string, bytes: Buffer): number | null {
  const width = TORCH_DTYPE_BYTES.get(dtype);
  if (width === undefined || bytes.length !== width) return null;
  const value = SCALARS.get(dtype)?.(bytes) ?? null;
  return value !== null && Number.isSafeInteger(value) ? value : null;
}

const SCALARS: ReadonlyMap<string, (bytes: Buffer) => number> = new Map([
  ['float32', (bytes: Buffer) => bytes.readFloatLE(0)],
  ['float64', (bytes: Buffer) => bytes.readDoubleLE(0)],
  ['int64', (bytes: Buffer) => Number(bytes.readBigInt64LE(0))],
  ['int32', (bytes: Buffer) => bytes.readInt32LE(0)],
]);
