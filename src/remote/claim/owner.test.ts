import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { formatOwner, isGone, type Owner, parseOwner, thisProcess } from './owner.ts';

const here = thisProcess('here');
const [boot, viewpoint, pid, began] = here.process?.split('.') ?? [];
const canTell = it.skipIf(here.process === null);
const seenAs = (...parts: readonly unknown[]): Owner => ({ ...here, id: 'other', process: parts.join('.') });

canTell('an owner lives as long as its process does', () => {
  const parent = seenAs(boot, viewpoint, pid, began);
  expect(isGone(parent, 0, here)).toBe(false);
  expect(isGone(parent, 59_000, here)).toBe(false);
});

canTell('an owner whose process has ended is gone at once, also when its number was given to another', () => {
  expect(isGone(seenAs(boot, viewpoint, spawnSync('true').pid, '1'), 0, here)).toBe(true);
  expect(isGone(seenAs(boot, viewpoint, pid, Number(began) + 1), 0, here)).toBe(true);
});

it.each([
  ['another machine, or another life of this one', seenAs('other-boot', viewpoint, 999_999_999, '1')],
  ['another container, or another machine of the same kernel', seenAs(boot, 'elsewhere', 999_999_999, '1')],
  ['a system that tells nothing', { ...here, process: null }],
])('of an owner in %s only the heartbeats count', (_, away) => {
  expect(isGone(away, 59_000, here)).toBe(false);
  expect(isGone(away, 61_000, here)).toBe(true);
});

it('a process that is alive but sends no heartbeat counts as gone', () => {
  expect(isGone(here, 61_000, here)).toBe(true);
});

it('an owner does not count as gone when a clock went back', () => {
  expect(isGone({ ...here, process: null }, -3_600_000, here)).toBe(false);
});

it('the record of this process is read back as it was written, and counts as alive', () => {
  const own = thisProcess('me');
  expect(isGone(own, 0, own)).toBe(false);
  expect(parseOwner(formatOwner(own))).toEqual(own);
});

it('an owner that an older version wrote is judged by its heartbeats alone', () => {
  const text = '{"id":"x","pid":2,"startedAt":"1","bootId":"boot","pidNamespace":"pid:[1]"}';
  expect(parseOwner(text)).toEqual({ id: 'x', pid: 2, process: null });
});

it.each(['', '{', '[]', '{"id":1,"pid":2}', '{"id":"x","pid":"2"}'])('%j is the name of no owner', (text) => {
  expect(parseOwner(text)).toBeNull();
});
