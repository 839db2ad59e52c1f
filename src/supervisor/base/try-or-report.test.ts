import { expect, it } from 'vitest';
import { tryOrReport } from './try-or-report.ts';

it('an error in work beside the trainer is logged and ends nothing', () => {
  const told: unknown[] = [];
  const log = { complain: (thrown: unknown) => void told.push(thrown) };
  expect(tryOrReport(log, () => 7)).toBe(7);
  const error = new Error('no thread can be made');
  const fail = (): number => {
    throw error;
  };
  expect([tryOrReport(log, fail), told]).toEqual([null, [error]]);
});
