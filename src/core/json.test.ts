import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from './json.ts';

function isTooMuch(text: string): boolean {
  const parsed = parseJson(text);
  return !parsed.ok && parsed.limit;
}

function list(count: number, make: (index: number) => string): string {
  return `[${Array.from({ length: count }, (_, index) => make(index)).join(',')}]`;
}

describe('an untrusted JSON document', () => {
  it('parses like JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it('may be a long log with the same keys in every line', () => {
    expect(isTooMuch(list(150_000, (i) => `{"epoch":${i},"loss":1.5,"step":${i}}`))).toBe(false);
  });

  it.each([
    ['objects with keys of their own', list(400_000, (i) => `{"k${i}":0}`)],
    ['one object of very many keys', `{${Array.from({ length: 400_000 }, (_, i) => `"k${i}":0`).join(',')}}`],
    [
      'keys in ever new orders',
      list(200_000, (i) => `{${Array.from({ length: 6 }, (_, at) => `"${Math.floor(i / 10 ** at) % 10}${at % 2}":0`).join(',')}}`),
    ],
    ['empty lists', list(1_200_000, () => '[]')],
    ['nesting', '['.repeat(300)],
  ])('is refused when it would fill the memory: %s', (_, text) => {
    expect(isTooMuch(text)).toBe(true);
  });
});
