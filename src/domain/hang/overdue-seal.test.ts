import { describe, expect, it } from 'vitest';
import { judgeSeal, type SealInFlight } from './overdue-seal.ts';

const MINUTE = 60_000;
const SEALING: SealInFlight = { step: 40, kind: 'sealing', tookMs: 0, quietMs: 0, predicted: { medianMs: 20_000, p95Ms: 30_000 } };
const QUICK = { medianMs: 10, p95Ms: 20 };

describe('a seal', () => {
  it.each<[string, Partial<SealInFlight>, boolean]>([
    ['is in time within a multiple of its P95', { tookMs: 150_000, quietMs: 150_000 }, false],
    ['is overdue after that', { tookMs: 150_001, quietMs: 30_001 }, true],
    ['is slow and not overdue while bytes still move', { tookMs: 10 * MINUTE, quietMs: 30_000 }, false],
    ['that usually takes moments is given half a minute', { predicted: QUICK, tookMs: 30_000, quietMs: 30_000 }, false],
    ['that usually takes moments is overdue after half a minute', { predicted: QUICK, tookMs: 30_001, quietMs: 30_001 }, true],
    ['that nobody can predict is in time while bytes move', { predicted: null, tookMs: 100 * MINUTE, quietMs: 10 * MINUTE }, false],
    [
      'that nobody can predict is overdue when none has moved for long',
      { predicted: null, tookMs: 11 * MINUTE, quietMs: 10 * MINUTE + 1 },
      true,
    ],
    ['that is done is in time while what it frees is being freed', { kind: 'tidying', tookMs: 9 * MINUTE, quietMs: 9 * MINUTE }, false],
    ['that is done is overdue when freeing does not end', { kind: 'tidying', tookMs: 11 * MINUTE, quietMs: 11 * MINUTE }, true],
  ])('%s', (_, facts, isOverdue) => {
    expect(judgeSeal({ ...SEALING, ...facts })).toMatchObject({ isOverdue, step: 40 });
  });

  it('that is overdue is reported with its predicted duration', () => {
    expect(judgeSeal({ ...SEALING, tookMs: 10 * MINUTE }).sentence).toBe(
      'sealing step 40 has taken 10m so far, where 20s were predicted, and 30s at most',
    );
  });
});
