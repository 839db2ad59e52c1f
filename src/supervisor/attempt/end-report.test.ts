import { expect, it } from 'vitest';
import { notSaved } from './end-report.ts';

it.each([
  [0, true, ''],
  [1, true, ', 1 later one is not saved'],
  [1, false, ', at least 1 later one is not saved'],
  [54, true, ', 54 later ones are not saved'],
])('%i steps after the last good one are said in good English', (steps, isExact, text) => {
  expect(notSaved(steps, isExact)).toBe(text);
});
