import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance, suggest } from './suggest.ts';

const COMMANDS = ['verify', 'explain', 'completion', 'help'];

describe('suggest', () => {
  it.each([
    ['verfy', 'verify'],
    ['evrify', 'verify'],
    ['VERIFY', 'verify'],
    ['explian', 'explain'],
    ['comp', 'completion'],
    ['hlep', 'help'],
  ])('suggests %s as %s', (word, meant) => {
    expect(suggest(word, COMMANDS)).toBe(meant);
  });

  it.each(['restore', 'x', '', 'v'.repeat(10_000)])('does not guess for %j', (word) => {
    expect(suggest(word, COMMANDS)).toBeNull();
  });

  it('always finds a known word that has one typo', () => {
    fc.assert(
      fc.property(fc.constantFrom('verify', 'explain', 'completion'), fc.nat(5), fc.constantFrom('a', 'z', '-'), (word, at, letter) => {
        expect(suggest(word.slice(0, at) + letter + word.slice(at + 1), COMMANDS)).toBe(word);
      }),
    );
  });
});

describe('editDistance', () => {
  it('is zero for equal words only, the same both ways, and never more than the longer word', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        const distance = editDistance(a, b);
        expect(distance === 0).toBe(a === b);
        expect(editDistance(b, a)).toBe(distance);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });

  it('counts two swapped letters as one typo', () => {
    expect(editDistance('verify', 'evrify')).toBe(1);
  });
});
