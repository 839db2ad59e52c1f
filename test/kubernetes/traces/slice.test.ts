import { expect, it } from 'vitest';
import { sliceBy } from './slice.ts';

const NAMES = ['one', 'two', 'three', 'four', 'five'];

it('a slice has so many of the names, each once, and is the same for the same key', () => {
  const slice = sliceBy('key', NAMES, 3);
  expect(new Set(slice).size).toBe(3);
  expect(NAMES).toEqual(expect.arrayContaining([...slice]));
  expect(sliceBy('key', NAMES.toReversed(), 3)).toEqual(slice);
});

it('every name is chosen by some key', () => {
  const chosen = Array.from({ length: 50 }, (_, key) => sliceBy(String(key), NAMES, 1)).flat();
  expect(new Set(chosen)).toEqual(new Set(NAMES));
});

it('a slice that is larger than all has all', () => {
  expect(sliceBy('key', NAMES, 9).toSorted()).toEqual(NAMES.toSorted());
});
