import type { Rng } from '../../../src/core/rng.ts';

/** What is put where something else was. */
const STRANGERS: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  7.5,
  1e300,
  2 ** 62,
  '',
  'nonsense',
  '1e999999999',
  '1e-999999999',
  '9'.repeat(5000),
  '\u0000',
  [],
  [null],
  [[]],
  {},
  { nonsense: null },
  { metadata: null },
];

/** The same with one value, anywhere in it, replaced, left out, doubled or under another name. */
export function mutated(value: unknown, rng: Rng): unknown {
  const children = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  // Every value has the same chance, however deep it lies.
  const sizes = children.map(([, child]) => sizeOf(child));
  let left = rng.integer(
    0,
    sizes.reduce((sum, size) => sum + size, 0),
  );
  const at = sizes.findIndex((size) => (left -= size) < 0);
  if (at < 0) return rng.pick(STRANGERS);
  const [key, child] = children[at] as [string, unknown];
  const other = [`${key}s`, child] as const;
  const changed = rng.next() < 0.9 ? [[key, mutated(child, rng)] as const] : rng.pick([[], [[key, child] as const, other], [other]]);
  const entries = [...children.slice(0, at), ...changed, ...children.slice(at + 1)];
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.values(value).reduce<number>((sum, each) => sum + sizeOf(each), 1) : 1;
}

/** The same with some of its bytes changed, left out or added; it stays one line. */
export function garbled(line: string, rng: Rng): Buffer {
  const bytes = Buffer.from(line);
  const at = rng.integer(0, bytes.length - 1);
  const end = Math.min(bytes.length, at + rng.integer(0, 8));
  const noise = Buffer.from(Array.from({ length: rng.integer(0, 4) }, () => rng.integer(11, 255)));
  if (rng.next() < 0.2) return bytes.subarray(0, at);
  return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(end)]);
}
