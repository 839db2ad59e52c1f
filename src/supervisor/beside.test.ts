import { expect, it } from 'vitest';
import { beside } from './beside.ts';

it('what cannot be begun beside a trainer is told, and ends nothing', () => {
  const told: unknown[] = [];
  const book = { complain: (thrown: unknown) => void told.push(thrown) };
  expect(beside(book, () => 7)).toBe(7);
  const error = new Error('no thread can be made');
  const fail = (): number => {
    throw error;
  };
  expect([beside(book, fail), told]).toEqual([null, [error]]);
});
