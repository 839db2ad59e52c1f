import type { Rng } from '../../src/core/rng.ts';

/** One way to damage bytes. Gives the new bytes, or null when it does not apply. */
interface Mutation {
  readonly name: string;
  apply(bytes: Buffer, rng: Rng): Buffer | null;
}

/** Numbers that overflow, underflow or exhaust what trusts them. */
const NASTY = [
  0n,
  1n,
  0x7fn,
  0x80n,
  0xffn,
  0x7fffn,
  0xffffn,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  1n << 40n,
  (1n << 53n) + 1n,
  (1n << 63n) - 1n,
  1n << 63n,
  (1n << 64n) - 1n,
];

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'flip a bit',
    apply: (bytes, rng) => edited(bytes, rng, 1, (part) => void (part[0] = (part[0] ?? 0) ^ (1 << rng.integer(0, 7)))),
  },
  { name: 'set a byte', apply: (bytes, rng) => edited(bytes, rng, 1, (part) => void (part[0] = rng.integer(0, 255))) },
  {
    name: 'nasty 32-bit number',
    apply: (bytes, rng) => edited(bytes, rng, 4, (part) => part.writeUInt32LE(Number(rng.pick(NASTY) & 0xffffffffn))),
  },
  { name: 'nasty 64-bit number', apply: (bytes, rng) => edited(bytes, rng, 8, (part) => part.writeBigUInt64LE(rng.pick(NASTY))) },
  { name: 'nasty big-endian number', apply: (bytes, rng) => edited(bytes, rng, 8, (part) => part.writeBigUInt64BE(rng.pick(NASTY))) },
  { name: 'zero a range', apply: (bytes, rng) => edited(bytes, rng, rng.integer(1, 512), (part) => void part.fill(0)) },
  {
    name: 'random range',
    apply: (bytes, rng) => edited(bytes, rng, rng.integer(1, 64), (part) => part.forEach((_, at) => void (part[at] = rng.integer(0, 255)))),
  },
  { name: 'digits', apply: (bytes, rng) => edited(bytes, rng, rng.integer(1, 12), (part) => void part.fill(0x30 + rng.integer(0, 9))) },
  { name: 'cut the end', apply: (bytes, rng) => bytes.subarray(0, rng.integer(0, bytes.length)) },
  { name: 'cut the beginning', apply: (bytes, rng) => bytes.subarray(rng.integer(0, bytes.length)) },
  { name: 'remove a range', apply: (bytes, rng) => spliced(bytes, rng, () => Buffer.alloc(0)) },
  {
    name: 'repeat a range',
    apply: (bytes, rng) => spliced(bytes, rng, (part) => Buffer.concat(Array.from({ length: rng.integer(2, 9) }, () => part))),
  },
  { name: 'append junk', apply: (bytes, rng) => Buffer.concat([bytes, Buffer.alloc(rng.integer(1, 600), rng.integer(0, 255))]) },
  { name: 'all zero', apply: (bytes) => Buffer.alloc(bytes.length) },
];

function edited(bytes: Buffer, rng: Rng, length: number, edit: (part: Buffer) => void): Buffer | null {
  if (bytes.length < length) return null;
  const copy = Buffer.from(bytes);
  const at = pickOffset(bytes.length - length, rng);
  edit(copy.subarray(at, at + length));
  return copy;
}

/**
 * Headers and trailers are where the decisions are: half of the edits go to the first and last
 * kilobyte.
 */
function pickOffset(max: number, rng: Rng): number {
  const where = rng.next();
  if (where < 0.3) return rng.integer(0, Math.min(max, 1024));
  if (where < 0.5) return rng.integer(Math.max(0, max - 1024), max);
  return rng.integer(0, max);
}

function spliced(bytes: Buffer, rng: Rng, replace: (part: Buffer) => Buffer): Buffer | null {
  if (bytes.length < 2) return null;
  const from = rng.integer(0, bytes.length - 1);
  const to = Math.min(bytes.length, from + rng.integer(1, 256));
  return Buffer.concat([bytes.subarray(0, from), replace(bytes.subarray(from, to)), bytes.subarray(to)]);
}
