import { expect, it } from 'vitest';
import { formatOwner, isGone, type Owner, parseOwner, thisProcess } from './owner.ts';

const here: Owner = { id: 'here', pid: 10, startedAt: '500', bootId: 'boot', pidNamespace: 'pid:[1]' };
const other: Owner = { ...here, id: 'other', pid: 20, startedAt: '700' };
const starts = (pid: number): string | null => (pid === 20 ? '700' : null);

it('an owner lives as long as its process does', () => {
  expect(isGone(other, 0, here, starts)).toBe(false);
  expect(isGone(other, 59_000, here, starts)).toBe(false);
});

it('an owner whose process has ended is gone at once, also when its number was given to another', () => {
  expect(isGone({ ...other, pid: 21 }, 0, here, starts)).toBe(true);
  expect(isGone({ ...other, startedAt: '600' }, 0, here, starts)).toBe(true);
});

it.each([
  ['another machine, or another life of this one', { bootId: 'other boot' }],
  ['another container', { pidNamespace: 'pid:[2]' }],
  ['a system that does not tell its boots', { bootId: null }],
  ['a system that does not tell when processes started', { startedAt: null }],
])('of an owner in %s only its signs tell', (_, differences) => {
  const away = { ...other, pid: 999, ...differences };
  expect(isGone(away, 59_000, here, starts)).toBe(false);
  expect(isGone(away, 61_000, here, starts)).toBe(true);
});

it('a process that lives and gives no sign is not waited for', () => {
  expect(isGone(other, 61_000, here, starts)).toBe(true);
});

it('a clock that went back makes nobody gone', () => {
  expect(isGone({ ...other, bootId: 'other boot' }, -3_600_000, here, starts)).toBe(false);
});

it('this process is not gone, and is read back as it was written', () => {
  const own = thisProcess('me');
  expect(isGone(own, 0, own)).toBe(false);
  expect(parseOwner(formatOwner(own))).toEqual(own);
});

it.each(['', '{', '[]', '{"id":1,"pid":2}', '{"id":"x","pid":"2"}'])('%j names nobody', (text) => {
  expect(parseOwner(text)).toBeNull();
});
