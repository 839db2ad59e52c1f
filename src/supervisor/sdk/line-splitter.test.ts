import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter } from './line-splitter.ts';

describe('LineSplitter', () => {
  it('yields the same lines wherever the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.infiniteStream(fc.integer({ min: 1, max: 7 })), (texts, sizes) => {
        const lines = texts.map((text) => text.replaceAll('\n', ' '));
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const splitter = new LineSplitter(1000);
        const got: string[] = [];
        for (let at = 0; at < bytes.length; ) {
          const size = sizes.next().value ?? 1;
          got.push(...(splitter.push(bytes.subarray(at, at + size)) ?? ['refused']));
          at += size;
        }
        expect(got).toEqual(lines);
      }),
    );
  });

  it('refuses a line longer than the bound, complete or not', () => {
    expect(new LineSplitter(4).push(Buffer.from('12345'))).toBeNull();
    expect(new LineSplitter(4).push(Buffer.from('1\n12345\n'))).toBeNull();
    const splitter = new LineSplitter(4);
    expect(splitter.push(Buffer.from('1234'))).toEqual([]);
    expect(splitter.push(Buffer.from('5'))).toBeNull();
  });
});
