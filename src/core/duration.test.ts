import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from './duration.ts';

describe('parseDuration', () => {
  it.each([
    ['0s', 0],
    ['500ms', 500],
    ['30s', 30_000],
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['2d', 172_800_000],
    ['1d2h3m4s5ms', 93_784_005],
  ])('reads %s as %i ms', (text, value) => {
    expect(parseDuration(text)).toEqual({ ok: true, value });
  });

  it('refuses a number without a unit and names the rule', () => {
    expect(parseDuration('5')).toEqual({
      ok: false,
      reason: '"5" has a number without a unit (5): a duration is numbers with units, largest first: 500ms, 30s, 5m, 1h30m, 2d',
    });
    expect(parseDuration('1h30').ok).toBe(false);
  });

  it.each(['', ' ', '-5s', '30m1h', '1h1h', '5 parsecs', '5S', 's', '1s!', '99999999999999999d'])('refuses %j', (text) => {
    expect(parseDuration(text).ok).toBe(false);
  });

  it('gives whole milliseconds or a reason for any text, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[0-9.hmsd ]{0,12}$/)), (text) => {
        const result = parseDuration(text);
        expect(result.ok ? Number.isSafeInteger(result.value) && result.value >= 0 : result.reason.length > 0).toBe(true);
      }),
    );
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [850, '850ms'],
    [999.6, '1s'],
    [3240, '3.2s'],
    [59_999, '1m'],
    [90_000, '1m 30s'],
    [7_500_000, '2h 5m'],
    [3_599_999, '1h'],
    [100 * 3_600_000, '4d 4h'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('writes text that parseDuration reads back to within three percent', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (ms) => {
        const back = parseDuration(formatDuration(ms));
        expect(back.ok && Math.abs(back.value - ms) <= Math.max(1, ms * 0.03)).toBe(true);
      }),
    );
  });
});
