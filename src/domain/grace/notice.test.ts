import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addNotice, type Cause, CAUSES, firstTerminating, isCause, makeNotice, withdrawNotice } from './notice.ts';

const CAUSE_NAMES = Object.keys(CAUSES) as Cause[];

describe('a notice', () => {
  it('is a guess when it is a bare signal, and known when it names its cause or its deadline', () => {
    expect(makeNotice({ cause: 'sigterm', atMs: 5, source: 'signal' })).toEqual({
      cause: 'sigterm',
      atMs: 5,
      deadlineMs: null,
      confidence: 'guess',
      terminating: true,
      source: 'signal',
      detail: null,
    });
    expect(makeNotice({ cause: 'aws-spot', atMs: 5, deadlineMs: 9, source: 'metadata' }).confidence).toBe('known');
  });

  it.each([
    ['aws-rebalance', false],
    ['gcp-maintenance', false],
    ['pressure', false],
    ['save-requested', false],
    ['suspend', true],
    ['azure-preempt', true],
    ['ctrl-c', true],
  ] as const)('of %s ends the attempt: %s', (cause, terminating) => {
    expect(makeNotice({ cause, atMs: 0, source: 'metadata' }).terminating).toBe(terminating);
  });

  it('counts once when it repeats, and keeps its first time and the earlier deadline', () => {
    const first = makeNotice({ cause: 'aws-spot', atMs: 10, deadlineMs: 200, source: 'metadata' });
    const again = makeNotice({ cause: 'aws-spot', atMs: 20, deadlineMs: 150, source: 'metadata' });
    const later = makeNotice({ cause: 'aws-spot', atMs: 30, deadlineMs: 999, source: 'metadata' });
    expect(addNotice(addNotice(addNotice([], first), again), later)).toEqual([{ ...first, deadlineMs: 150 }]);
  });

  it('can be withdrawn if it only advises, but not if it ends the attempt', () => {
    const advice = makeNotice({ cause: 'aws-rebalance', atMs: 0, source: 'metadata' });
    const end = makeNotice({ cause: 'aws-spot', atMs: 1, source: 'metadata' });
    const both = addNotice(addNotice([], advice), end);
    expect(withdrawNotice(both, advice)).toEqual([end]);
    expect(withdrawNotice(both, end)).toEqual(both);
  });

  it('is found by its time: the first one that ends the attempt', () => {
    const early = makeNotice({ cause: 'suspend', atMs: 3, source: 'watched-file' });
    const notices = [
      makeNotice({ cause: 'sigterm', atMs: 7, source: 'signal' }),
      makeNotice({ cause: 'pressure', atMs: 1, source: 'pressure' }),
      early,
    ];
    expect(firstTerminating(notices)).toBe(early);
    expect(firstTerminating([])).toBeNull();
  });

  it('never disappears and never gains time, in any order and number of notices', () => {
    const notice = fc
      .record({ cause: fc.constantFrom(...CAUSE_NAMES), atMs: fc.nat(1000), deadlineMs: fc.option(fc.nat(1000)) })
      .map((facts) => makeNotice({ ...facts, source: 'metadata' }));
    fc.assert(
      fc.property(fc.array(notice, { maxLength: 20 }), (all) => {
        const kept = all.reduce(addNotice, [] as readonly ReturnType<typeof makeNotice>[]);
        expect(new Set(kept.map(({ cause }) => cause))).toEqual(new Set(all.map(({ cause }) => cause)));
        for (const one of all) {
          const same = kept.filter(({ cause }) => cause === one.cause);
          expect(same).toHaveLength(1);
          expect(same[0]?.atMs).toBeLessThanOrEqual(one.atMs);
          if (one.deadlineMs !== null) expect(same[0]?.deadlineMs).toBeLessThanOrEqual(one.deadlineMs);
        }
      }),
    );
  });

  it('has only causes from the table', () => {
    expect(isCause('sigterm')).toBe(true);
    expect(isCause('toString')).toBe(false);
  });
});
