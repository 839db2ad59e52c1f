import { describe, expect, it } from 'vitest';
import { lookup3 } from './lookup3.ts';

describe('lookup3', () => {
  it.each([
    ['', 0xdeadbeef],
    ['Four score and seven years ago', 0x17770551],
  ])('of "%s" equals the value that its author published', (text, expected) => {
    expect(lookup3(Buffer.from(text))).toBe(expected);
  });
});
