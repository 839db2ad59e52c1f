import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excerpt, printable } from './printable.ts';

describe('printable', () => {
  it('writes terminal escapes and newlines as visible characters', () => {
    expect(printable('a\u001b[31mb\nc')).toBe('a\\x1b[31mb\\x0ac');
  });

  it('writes direction marks and lone surrogates as visible characters', () => {
    expect(printable('\u202egpj')).toBe('\\u202egpj');
    expect(printable('\ud800x')).toBe('\\ud800x');
  });

  it('leaves ordinary text of any script as it is', () => {
    expect(printable('gewicht-Ä-重み-😀')).toBe('gewicht-Ä-重み-😀');
  });

  it('never lets a control character through, whatever the input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
      }),
    );
  });
});

describe('excerpt', () => {
  it('cuts a long text to the given length and marks the cut', () => {
    expect(excerpt('x'.repeat(1000), 10)).toBe(`${'x'.repeat(9)}…`);
  });

  it('never returns more than the length given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 50 }), (text, max) => {
        expect(excerpt(text, max).length).toBeLessThanOrEqual(max);
      }),
    );
  });
});
