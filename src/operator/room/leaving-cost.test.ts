import { describe, expect, it } from 'vitest';
import { parseRecord } from '../training-run/parse-record.ts';
import { leavingCostOf } from './leaving-cost.ts';

/** The accelerators of a gang whose ranks report so many, and whose pods hold so many. */
function accelerators(reported: number | null, held: number): number {
  const attempts = [{ number: 1, startedAt: '2026-11-18T08:00:00Z' }];
  const record = parseRecord({ phase: 'Running', attempt: 1, attempts, progress: { accelerators: reported } });
  if (record === null) throw new Error('the record was not read');
  return leavingCostOf(record, held, Date.parse('2026-11-18T09:00:00Z')).accelerators;
}

describe('the accelerators of a gang that may leave', () => {
  it.each([
    ['those that its pods hold, although one process uses all of a pod', 1, 8, 8],
    ['its ranks where its pods hold none', 4, 0, 4],
    ['one where neither is known', null, 0, 1],
  ] as const)('are %s', (_, reported, held, expected) => {
    expect(accelerators(reported, held)).toBe(expected);
  });
});
