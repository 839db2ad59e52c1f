import { describe, expect, it } from 'vitest';
import { choosePlacement, type PlacedAttempt } from './placement.ts';

const NOW = 100_000_000;
const ended = (cause: PlacedAttempt['cause'], minutesAgo = 1, placement: PlacedAttempt['placement'] = 'spot'): PlacedAttempt => ({
  placement,
  cause,
  endedMs: NOW - minutesAgo * 60_000,
});
const RECLAIMS = [ended('SPOT_RECLAIM', 50), ended('NODE_DELETED', 20), ended('MACHINE_SHUTDOWN', 1)];

describe('an attempt of a job that prefers Spot', () => {
  it.each<[string, readonly PlacedAttempt[], number | null, string]>([
    ['runs on Spot at first', [], null, 'spot'],
    ['runs on demand when Spot had no room', [ended('POD_UNSCHEDULABLE')], null, 'on-demand'],
    ['runs on Spot after two interruptions', RECLAIMS.slice(1), null, 'spot'],
    ['runs on demand after three interruptions within an hour', RECLAIMS, null, 'on-demand'],
    ['runs on Spot when one of the three is older than an hour', [ended('SPOT_RECLAIM', 61), ...RECLAIMS.slice(1)], null, 'spot'],
    ['runs on Spot when there was progress between them', RECLAIMS, NOW - 10 * 60_000, 'spot'],
    ['runs on Spot after three errors', [ended('TRAINER_FAILED'), ended('TRAINER_FAILED'), ended('TRAINER_FAILED')], null, 'spot'],
    ['returns to Spot after one on demand', [...RECLAIMS, ended('API_EVICTION', 0, 'on-demand')], null, 'spot'],
    ['returns to Spot after one on demand that had no room', [ended('POD_UNSCHEDULABLE', 1, 'on-demand')], null, 'spot'],
  ])('%s', (_, attempts, progressMs, placement) => {
    expect(choosePlacement(attempts, { progressMs, nowMs: NOW })).toMatchObject({ placement, reason: expect.stringMatching(/./) });
  });
});
