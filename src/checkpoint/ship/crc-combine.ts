/** CRC-32C's polynomial, bits reversed. */
const POLYNOMIAL = 0x82f63b78;

/** x^(2^n) modulo the polynomial, by n. */
const POWERS: readonly number[] = makePowers();

function makePowers(): readonly number[] {
  const powers = [0x40000000];
  for (let n = 1; n < 32; n++) powers.push(multiply(powers[n - 1] ?? 0, powers[n - 1] ?? 0));
  return powers;
}

/** The product of two polynomials modulo the polynomial. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor;
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}

/** x^(8 × bytes) modulo the polynomial: what appending so many bytes does to a checksum. */
function shiftBy(bytes: number): number {
  let shift = 0x80000000;
  let rest = bytes;
  // The powers repeat with a period of 31 steps, because x has the order 2^31 - 1.
  for (let n = 3; rest > 0; n = n === 31 ? 1 : n + 1) {
    if (rest % 2 === 1) shift = multiply(POWERS[n] ?? 0, shift);
    rest = Math.floor(rest / 2);
  }
  return shift;
}

/** The crc32c of two pieces in a row, from the checksum of each and the length of the second; no byte is read. */
export function combineCrc32c(first: number, second: number, secondLength: number): number {
  if (secondLength !== known.length) known = { length: secondLength, shift: shiftBy(secondLength) };
  return (multiply(known.shift, first >>> 0) ^ second) >>> 0;
}

/** Pieces in a row mostly have the same length. */
let known = { length: 0, shift: shiftBy(0) };
