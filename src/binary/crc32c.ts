const POLYNOMIAL = 0x82f6_3b78;
const SLICES = 8;

type Tables = readonly [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array];

/**
 * Table k: the effect of a byte on the sum when k more bytes follow it. Made on first use, which is
 * rare.
 */
let tables: Tables | null = null;

function makeTables(): Int32Array[] {
  const made = [
    Int32Array.from({ length: 256 }, (_, byte) => {
      let crc = byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) === 0 ? 0 : POLYNOMIAL);
      return crc;
    }),
  ];
  const [first = new Int32Array()] = made;
  for (let k = 1; k < SLICES; k++) {
    const before = made[k - 1] ?? first;
    made.push(before.map((value) => (first[value & 0xff] ?? 0) ^ (value >>> 8)));
  }
  return made;
}

/** CRC-32C in plain code, eight bytes at a time, for systems that cannot load native code. */
export function crc32cOf(bytes: Uint8Array, previous = 0): number {
  tables ??= makeTables() as readonly Int32Array[] as Tables;
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables;
  let crc = ~previous;
  let at = 0;
  const end = bytes.length - (bytes.length % SLICES);
  const b = bytes as unknown as readonly number[] as { readonly [index: number]: number };
  for (; at < end; at += SLICES) {
    const low = crc ^ (byteOf(b, at) | (byteOf(b, at + 1) << 8) | (byteOf(b, at + 2) << 16) | (byteOf(b, at + 3) << 24));
    crc =
      entryOf(t7, low & 0xff) ^
      entryOf(t6, (low >>> 8) & 0xff) ^
      entryOf(t5, (low >>> 16) & 0xff) ^
      entryOf(t4, low >>> 24) ^
      entryOf(t3, byteOf(b, at + 4)) ^
      entryOf(t2, byteOf(b, at + 5)) ^
      entryOf(t1, byteOf(b, at + 6)) ^
      entryOf(t0, byteOf(b, at + 7));
  }
  for (; at < bytes.length; at++) crc = entryOf(t0, (crc ^ byteOf(b, at)) & 0xff) ^ (crc >>> 8);
  return ~crc >>> 0;
}

function byteOf(bytes: { readonly [index: number]: number }, at: number): number {
  return bytes[at] as number;
}

function entryOf(table: Int32Array, at: number): number {
  return table[at] as number;
}
