import { describe, expect, it } from 'vitest';
import { isSameError, lastLine, normaliseLine } from './same-error.ts';

describe('the last line of a log', () => {
  it.each([
    ['a time', '2026-11-18T09:00:00.123 out of memory', '2026-11-19T10:11:12.5 out of memory'],
    ['a number', 'loss is nan at step 1200', 'loss is nan at step 7'],
    ['an address', 'tensor at 0x7f3a22bc', 'tensor at 0x10'],
    ['an identifier', 'run 123e4567-e89b-12d3-a456-426614174000 failed', 'run 00000000-e89b-12d3-a456-426614174fff failed'],
    ['a hash', 'commit 8a89bd6388cc11 broke', 'commit 0123456789abcd broke'],
  ])('is the same when only %s differs', (_, one, other) => {
    expect(normaliseLine(one)).toBe(normaliseLine(other));
  });

  it('is different when its words differ', () => {
    expect(normaliseLine('KeyError: optimizer')).not.toBe(normaliseLine('KeyError: model'));
  });

  it('is the last line with content, and its length is bounded', () => {
    expect(lastLine('Traceback …\nValueError: 3\n\n  \n')).toBe('ValueError: #');
    expect(lastLine('')).toBe('');
    expect(lastLine('x'.repeat(100_000)).length).toBeLessThanOrEqual(200);
  });

  it('proves nothing if it could not be read', () => {
    expect(isSameError({ exitCode: 1, line: null }, { exitCode: 1, line: null })).toBe(false);
    expect(isSameError({ exitCode: 1, line: '' }, { exitCode: 1, line: '' })).toBe(true);
    expect(isSameError({ exitCode: 1, line: '' }, { exitCode: 2, line: '' })).toBe(false);
  });
});
