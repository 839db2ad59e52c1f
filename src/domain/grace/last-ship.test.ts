import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideLastShip, type LastShipFacts } from './last-ship.ts';

const facts: LastShipFacts = {
  leftMs: 10_000,
  bytesPerMs: 1000,
  current: { step: 100, restBytes: 4_000_000 },
  newest: { step: 200, bytes: 5_000_000 },
};

describe('shipping in the remaining time', () => {
  it.each([
    ['both, when both fit', {}, 'wait', /^steps 100 and 200 are shipped in the 10s/],
    ['the newest alone, when not both fit', { leftMs: 6000 }, 'switch', /step 100 is given up for it/],
    ['what is nearly there, when the newest does not fit', { leftMs: 4500 }, 'wait', /^step 100 is shipped/],
    ['nothing, when nothing fits', { leftMs: 1000 }, 'stop', /are not shipped: .* do not fit in the 1s that are left/],
    ['the newest, when nothing is on its way', { current: null, leftMs: 6000 }, 'wait', /^step 200 is shipped/],
    ['nothing, when the time is over', { leftMs: -5, newest: null }, 'stop', /is not shipped/],
    ['everything, when nobody presses', { leftMs: Infinity }, 'wait', /before the end/],
    ['what has never been measured is tried', { bytesPerMs: null, leftMs: 1 }, 'wait', /are shipped/],
  ] as const)('%s', (_, changes, outcome, sentence) => {
    const decided = decideLastShip({ ...facts, ...changes });
    expect(decided.outcome).toBe(outcome);
    expect(decided.sentence).toMatch(sentence);
  });

  it('abandons a running transfer only for a newer one that fits', () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.nat(20_000_000), fc.nat(20_000_000), (leftMs, restBytes, bytes) => {
        const { outcome } = decideLastShip({ leftMs, bytesPerMs: 1000, current: { step: 1, restBytes }, newest: { step: 2, bytes } });
        if (outcome === 'switch') expect(bytes / 1000).toBeLessThanOrEqual(leftMs);
        if (outcome === 'stop') expect(Math.min(bytes, restBytes) / 1000).toBeGreaterThan(leftMs);
      }),
    );
  });
});
