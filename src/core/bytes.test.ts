import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatBytes, parseBytes } from './bytes.ts';

describe('parseBytes', () => {
  it.each([
    ['0B', 0],
    ['512B', 512],
    ['500MB', 500_000_000],
    ['8MiB', 8 * 1024 * 1024],
    ['1.5 GiB', 1.5 * 1024 ** 3],
    ['16Gi', 16 * 1024 ** 3],
    ['2kB', 2000],
    [' 1TB ', 1e12],
  ])('reads %s as %i bytes', (text, value) => {
    expect(parseBytes(text)).toEqual({ ok: true, value });
  });

  it('refuses a number without a unit and names the rule', () => {
    expect(parseBytes('5')).toEqual({
      ok: false,
      reason: '"5" has no unit: a size is a number with a unit: B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)',
    });
  });

  it('refuses a letter with two meanings and names both', () => {
    expect(parseBytes('8M')).toMatchObject({ ok: false, reason: expect.stringContaining('(MB or MiB?)') as string });
    expect(parseBytes('8mb')).toMatchObject({ ok: false, reason: expect.stringContaining('(MB or MiB?)') as string });
  });

  it.each(['', '-1MB', '1e3MB', 'MiB', '1,5MB', '0x10B', '9999999PB', '1MB\u001b[31m'])('refuses %j', (text) => {
    expect(parseBytes(text).ok).toBe(false);
  });

  it('gives a whole, safe number of bytes or a reason for any text, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const result = parseBytes(text);
        expect(result.ok ? Number.isSafeInteger(result.value) : result.reason.length > 0).toBe(true);
      }),
    );
  });
});

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [8 * 1024 * 1024, '8 MiB'],
    [1024 * 1024 - 1, '1 MiB'],
    [123.4 * 1024 ** 3, '123 GiB'],
  ])('writes %d as %s', (count, text) => {
    expect(formatBytes(count)).toBe(text);
  });

  it('writes text that parseBytes reads back to within half a percent', () => {
    fc.assert(
      fc.property(
        fc.maxSafeNat().map((n) => Math.floor(n / 2)),
        (count) => {
          const back = parseBytes(formatBytes(count));
          expect(back.ok && Math.abs(back.value - count) <= count * 0.006).toBe(true);
        },
      ),
    );
  });
});
