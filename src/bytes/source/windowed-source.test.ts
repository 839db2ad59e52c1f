import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ByteSource, memorySource } from './byte-source.ts';
import { windowedSource } from './windowed-source.ts';

const bytes = randomBytes(20_000);

function counted(): { source: ByteSource; reads: () => number } {
  const inner = memorySource(bytes, 'x');
  let reads = 0;
  const source: ByteSource = {
    ...inner,
    read: (offset, length) => {
      reads++;
      return inner.read(offset, length);
    },
  };
  return { source, reads: () => reads };
}

describe('a windowed source', () => {
  it('reads the same bytes as the source under it, in any order and in any part', () => {
    const place = fc.record({ offset: fc.nat(21_000), length: fc.nat(6000), from: fc.nat(21_000), size: fc.nat(21_000) });
    fc.assert(
      fc.property(fc.array(place, { maxLength: 20 }), (places) => {
        const plain = memorySource(bytes, 'x');
        const windowed = windowedSource(plain);
        for (const { offset, length, from, size } of places) {
          expect(windowed.read(offset, length).equals(plain.read(offset, length))).toBe(true);
          const part = windowed.slice(from, size);
          expect(part.size).toBe(plain.slice(from, size).size);
          expect(part.read(offset, length).equals(plain.slice(from, size).read(offset, length))).toBe(true);
        }
      }),
    );
  });

  it('fetches the end of one part and the beginning of the next with one read', () => {
    const { source, reads } = counted();
    const windowed = windowedSource(source);
    windowed.slice(0, 10_000).read(9_978, 22);
    windowed.slice(10_000, 5000).read(0, 30);
    windowed.slice(10_000, 5000).read(64, 100);
    expect(reads()).toBe(1);
  });
});
