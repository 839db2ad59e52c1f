/**
 * The key of a tensor as a person knows it, and whether the entry is one slice of a partitioned
 * tensor.
 */
export interface TensorName {
  readonly name: string;
  readonly isSlice: boolean;
}

/**
 * A slice's key is binary: a zero byte, the tensor's name with zero and 255 escaped, an end mark of
 * 0 and 1, then the ranges. No name begins with a zero byte, which tells the two apart.
 */
export function tensorName(key: Buffer): TensorName {
  if (key[0] !== 0) return { name: key.toString('utf8'), isSlice: false };
  const end = endOfName(key);
  return { name: unescape(key.subarray(1, end)).toString('utf8'), isSlice: true };
}

function endOfName(key: Buffer): number {
  for (let i = 1; i + 1 < key.length; i++) {
    if (key[i] === 0 && key[i + 1] === 1) return i;
    if (key[i] === 0 || key[i] === 0xff) i++;
  }
  return key.length;
}

function unescape(bytes: Buffer): Buffer {
  const plain: number[] = [];
  for (let i = 0; i < bytes.length; i++) {
    plain.push(bytes[i] as number);
    if (bytes[i] === 0 || bytes[i] === 0xff) i++;
  }
  return Buffer.from(plain);
}
