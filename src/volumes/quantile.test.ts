import { expect, it } from 'vitest';
import { quantile } from './quantile.ts';

it.each([
  [[7], 0.1, 7],
  [[3, 1, 2], 0.5, 2],
  [[1, 2, 3, 4], 0.5, 2.5],
  [[10, 0], 0.1, 1],
  [[1, 2, 3], 1, 3],
])('of %j the quantile %d is %d', (samples, q, expected) => {
  expect(quantile(samples, q)).toBe(expected);
});
