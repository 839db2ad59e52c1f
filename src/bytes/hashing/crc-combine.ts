/**
 * The reflected polynomials of the checksums whose parts can be computed separately and combined.
 */
const POLYNOMIALS = { crc32: 0xedb88320, crc32c: 0x82f63b78 } as const;

/** A checksum whose parts can be combined. */
export type CombinableCrc = keyof typeof POLYNOMIALS;

/** `a × b` over GF(2), modulo the polynomial; bit 31 is the coefficient of x⁰. */
function multiply(a: number, b: number, polynomial: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ polynomial : factor >>> 1;
  }
  return product >>> 0;
}

/**
 * x to the power of 8 × `bytes`, modulo the polynomial. Multiplying by it shifts a checksum past
 * that many bytes.
 */
function shiftBy(bytes: number, polynomial: number): number {
  let power = 0x0080_0000;
  let result = 0x8000_0000;
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiply(power, result, polynomial);
    power = multiply(power, power, polynomial);
  }
  return result;
}

/** A cache of the last shift: all pieces but the last have the same length. */
let known: { readonly kind: CombinableCrc; readonly length: number; readonly shift: number } | null = null;

/** The checksum of two adjacent pieces, from their checksums and the length of the second. */
export function combineCrc(kind: CombinableCrc, first: number, second: number, secondLength: number): number {
  const polynomial = POLYNOMIALS[kind];
  if (known?.kind !== kind || known.length !== secondLength)
    known = { kind, length: secondLength, shift: shiftBy(secondLength, polynomial) };
  return (multiply(known.shift, first, polynomial) ^ second) >>> 0;
}
