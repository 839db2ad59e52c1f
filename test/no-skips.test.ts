import { expect, it } from 'vitest';
import { leftOut } from './support/no-skips.ts';

const module = { project: 'crash', file: 'power.test.ts', passed: 3, skipped: ['power cuts > on ext4'] };

it('a proof that is left out in CI is told, with its file and its name', () => {
  expect(leftOut([module])).toEqual(['crash: power.test.ts left out 1: power cuts > on ext4']);
});

it('what ran, and what need not run everywhere, is not told', () => {
  expect(leftOut([{ ...module, skipped: [] }])).toEqual([]);
  expect(leftOut([{ ...module, project: 'unit' }])).toEqual([]);
});

it('a store may lack a feature, but not be missing', () => {
  expect(leftOut([{ ...module, project: 'stores' }])).toEqual([]);
  expect(leftOut([{ ...module, project: 'stores', passed: 0 }])).toHaveLength(1);
});
