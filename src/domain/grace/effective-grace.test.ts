import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Deadline,
  DEFAULT_GRACE,
  effectiveDeadline,
  explainDeadline,
  type GraceFacts,
  NODE_KINDS,
  type NodeKind,
} from './effective-grace.ts';
import { type Cause, CAUSES, makeNotice, type Notice } from './notice.ts';

const NOTHING: GraceFacts = { nominal: DEFAULT_GRACE, notices: [], node: null, pressure: [], limits: [] };
const sigterm = (atMs = 0): Notice => makeNotice({ cause: 'sigterm', atMs, source: 'signal' });
const FULL_DISK = { resource: 'disk', seen: '8 % free, eviction begins at 10 %' } as const;

/** The grace in seconds and its confidence. */
const graceOf = (facts: Partial<GraceFacts>): string => {
  const deadline = effectiveDeadline({ ...NOTHING, ...facts });
  return deadline === null ? 'none' : `${deadline.graceMs / 1000} ${deadline.confidence}`;
};

describe('the effective grace', () => {
  it.each<[string, Partial<GraceFacts>, string]>([
    ['nothing has come', {}, 'none'],
    ['only an advice has come', { notices: [makeNotice({ cause: 'aws-rebalance', atMs: 0, source: 'metadata' })] }, 'none'],
    ['a bare SIGTERM and nobody knows the grace', { notices: [sigterm()] }, '30 guess'],
    ['a bare SIGTERM and the grace was told', { notices: [sigterm()], nominal: { graceMs: 300_000, from: 'option' } }, '300 known'],
    [
      'a bare SIGTERM on a Spot node of GKE',
      { notices: [sigterm()], nominal: { graceMs: 60_000, from: 'option' }, node: 'gke-spot' },
      '15 guess',
    ],
    ['a bare SIGTERM while the disk is nearly full', { notices: [sigterm()], pressure: [FULL_DISK] }, '2 guess'],
    ['a hard eviction', { notices: [makeNotice({ cause: 'eviction-hard', atMs: 0, source: 'cluster' })] }, '2 known'],
    ['a reclaim of Google Cloud', { notices: [makeNotice({ cause: 'gcp-preempted', atMs: 0, source: 'metadata' })] }, '30 known'],
    [
      'a Spot notice that says when',
      { notices: [makeNotice({ cause: 'aws-spot', atMs: 0, deadlineMs: 117_000, source: 'metadata' })] },
      '117 known',
    ],
    [
      'a Spot notice, then SIGTERM by whoever drains the node',
      { notices: [makeNotice({ cause: 'aws-spot', atMs: 0, deadlineMs: 117_000, source: 'metadata' }), sigterm(5000)] },
      '35 guess',
    ],
    [
      'a preemption that was announced, on a Spot node: the node is not what ends it',
      { notices: [makeNotice({ cause: 'preemption', atMs: 0, source: 'watched-file' }), sigterm(1000)], node: 'gke-spot' },
      '30 guess',
    ],
    [
      'a reclaim of Google Cloud on a Spot node of GKE',
      { notices: [makeNotice({ cause: 'gcp-preempted', atMs: 0, source: 'metadata' })], node: 'gke-spot' },
      '15 guess',
    ],
    [
      'a Spot notice, then SIGTERM, on a Spot node of GKE',
      { notices: [makeNotice({ cause: 'aws-spot', atMs: 0, deadlineMs: 90_000, source: 'metadata' }), sigterm(5000)], node: 'gke-spot' },
      '20 guess',
    ],
    [
      'a shutdown of the node',
      { notices: [makeNotice({ cause: 'node-shutdown', atMs: 0, source: 'cluster' })], node: 'gke-spot' },
      '15 guess',
    ],
    ['a launcher that kills its workers first', { notices: [sigterm()], limits: [{ graceMs: 10_000, reason: 'torchrun' }] }, '10 known'],
    ['an annotation that names the instant', { notices: [sigterm()], limits: [{ deadlineMs: 12_000, reason: 'told' }] }, '12 known'],
    ['a grace of nothing', { notices: [sigterm()], nominal: { graceMs: 0, from: 'option' } }, '0 known'],
  ])('when %s', (_, facts, grace) => {
    expect(graceOf(facts)).toBe(grace);
  });

  it('explains every shortening', () => {
    const deadline = effectiveDeadline({ ...NOTHING, notices: [sigterm(1000)], node: 'gke-spot', pressure: [FULL_DISK] });
    expect(explainDeadline(deadline as Deadline, 1500)).toBe(
      '1.5s left (a guess): SIGTERM leaves 30s (the default, because no grace was given); shorter, because a Spot node of GKE leaves user ' +
        'pods 15s of the 30s before it goes; shorter, because this may be an eviction, which leaves 2s: the node is short of disk (8 % free, ' +
        'eviction begins at 10 %)',
    );
    expect(explainDeadline(deadline as Deadline, 4000)).toContain('1s past the deadline');
  });

  it('keeps its deadline when the notice is withdrawn or facts are lost', () => {
    const before = effectiveDeadline({ ...NOTHING, notices: [sigterm()] });
    expect(effectiveDeadline(NOTHING, before)).toEqual(before);
  });

  it('only shrinks, in any order of facts, and its reasons end at its value', () => {
    const notice = fc
      .record({
        cause: fc.constantFrom(...(Object.keys(CAUSES) as Cause[])),
        atMs: fc.nat(100_000),
        deadlineMs: fc.option(fc.nat(300_000)),
        source: fc.constantFrom('signal', 'metadata', 'watched-file' as const),
      })
      .map(makeNotice);
    const facts: fc.Arbitrary<GraceFacts> = fc.record({
      nominal: fc.record({ graceMs: fc.nat(600_000), from: fc.constantFrom('option', 'environment', 'default') }),
      notices: fc.array(notice, { maxLength: 6 }),
      node: fc.option(fc.constantFrom(...(Object.keys(NODE_KINDS) as NodeKind[]))),
      pressure: fc.subarray([FULL_DISK]),
      limits: fc.array(fc.record({ graceMs: fc.nat(60_000), reason: fc.constant('told') }), { maxLength: 2 }),
    });
    fc.assert(
      fc.property(fc.array(facts, { maxLength: 5 }), (learnt) => {
        let deadline: Deadline | null = null;
        for (const one of learnt) {
          const next: Deadline | null = effectiveDeadline(one, deadline);
          if (deadline !== null) expect(next?.deadlineMs).toBeLessThanOrEqual(deadline.deadlineMs);
          deadline = next;
          const chain = deadline?.reasons.map(({ deadlineMs }) => deadlineMs) ?? [];
          expect(chain).toEqual([...new Set(chain)].sort((a, b) => b - a));
          expect(chain.at(-1)).toBe(deadline?.deadlineMs);
          if (deadline !== null) expect(deadline.graceMs).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
