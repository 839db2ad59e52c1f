import { expect, it } from 'vitest';
import { reasonsOf } from './support/told-skips.ts';

it('why tests were left out is told once for each reason, with how many', () => {
  const names = [
    'a box (skipped: a cluster needs root: it mounts (loop devices)) > is small',
    'a box (skipped: a cluster needs root: it mounts (loop devices)) > ends (at once)',
  ];
  expect(reasonsOf([...names, 'saves (skipped: torch is not installed)'])).toEqual([
    '2 tests left out: a cluster needs root: it mounts (loop devices)',
    '1 test left out: torch is not installed',
  ]);
});

it('tests that somebody left out by choosing others are not told of', () => {
  expect(reasonsOf(['a box > is small'])).toEqual([]);
});
