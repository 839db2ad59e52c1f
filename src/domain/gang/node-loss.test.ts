import { describe, expect, it } from 'vitest';
import type { EndCause } from '../causes/catalogue.ts';
import { avoidedPlaces, type PlaceOfEnd } from './avoidance.ts';
import { forceAtMs, mayFollowFromLoss, openUntilMs, wasSilentAt } from './lost-node.ts';

const NOW = 10_000_000;
const end = (cause: PlaceOfEnd['cause'], minutesAgo: number, node: string | null = 'n1'): PlaceOfEnd => ({
  cause,
  node,
  zone: 'a',
  endedMs: NOW - minutesAgo * 60_000,
});

describe('a pod on a lost node', () => {
  it('is deleted without its kubelet after 20 seconds if its writes are fenced or its user allows it', () => {
    expect(forceAtMs({ lostMs: 1000, isFenced: true, isForceAllowed: false })).toBe(21_000);
    expect(forceAtMs({ lostMs: 1000, isFenced: false, isForceAllowed: true })).toBe(21_000);
    expect(forceAtMs({ lostMs: 1000, isFenced: false, isForceAllowed: false })).toBeNull();
  });
});

describe('a node that is declared lost after an attempt failed', () => {
  it.each<[string, number, number | null, boolean]>([
    ['was silent at the end, if it was never heard of after it', 45_000, -2000, true],
    ['was silent at the end of the same second', 45_000, 0, true],
    ['was silent at the end, if nobody knows when it was last heard of', 60_000, null, true],
    ['was there at the end, if it was heard of later', 45_000, 1, false],
    ['was there at the end, if it was declared lost more than a minute later', 60_001, -2000, false],
    ['was silent at an end that was noticed late', -300_000, -350_000, true],
  ])('%s', (_, declaredAfterMs, heardAfterMs, isSilent) => {
    const heardMs = heardAfterMs === null ? null : NOW + heardAfterMs;
    expect(wasSilentAt(NOW, { declaredMs: NOW + declaredAfterMs, heardMs })).toBe(isSilent);
  });

  it.each<[string, number, readonly number[], number | null]>([
    ['is open while a node was not heard of since', 100, [-9000, 30_000], NOW + 60_000],
    ['is open where a node was heard of in the second of the failure', 100, [999], NOW + 60_000],
    ['is settled once every node was heard of in a later second', 100, [1000, 30_000], null],
    ['is settled where nobody else runs', 100, [], null],
    ['is settled after a minute', 60_000, [-9000], null],
    ['is open where the clock of its node is ahead', -50_000, [-60_000], NOW + 60_000],
    ['is settled where that clock is more than a minute ahead', -60_001, [-70_000], null],
  ])('a failure before it %s', (_, afterMs, heardAfterMs, untilMs) => {
    const heardMs = heardAfterMs.map((ms) => NOW + ms);
    expect(openUntilMs({ failedMs: NOW, nowMs: NOW + afterMs }, heardMs)).toBe(untilMs);
  });

  it('may explain an error of the program, and an end that nothing proves, but no limit of the manifest', () => {
    expect(
      ['TRAINER_FAILED', 'TRAINER_CRASHED', 'SUPERVISOR_REFUSED', 'CANNOT_TELL'].map((each) => mayFollowFromLoss(each as EndCause)),
    ).toEqual([true, true, true, true]);
    expect(['OUT_OF_MEMORY', 'EMPTY_DIR_LIMIT', 'POD_REJECTED'].map((each) => mayFollowFromLoss(each as EndCause))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('the places to avoid', () => {
  it.each<[string, readonly PlaceOfEnd[], readonly string[], readonly string[]]>([
    ['none after one loss', [end('API_EVICTION', 1)], [], []],
    ['a node that lost two attempts', [end('API_EVICTION', 50), end('TRAINER_CRASHED', 1)], ['n1'], []],
    ['none whose losses are more than an hour apart', [end('API_EVICTION', 61), end('API_EVICTION', 1)], [], []],
    ['none that a limit of the manifest ended', [end('OUT_OF_MEMORY', 2), end('OUT_OF_MEMORY', 1)], [], []],
    ['a faulty node at once', [end('NODE_FAULTY', 1)], ['n1'], []],
    ['the zone that just reclaimed a machine', [end('SPOT_RECLAIM', 1)], [], ['a']],
    ['no zone of an older reclaim', [end('SPOT_RECLAIM', 2, 'n2'), end('API_EVICTION', 1)], [], []],
    ['none without a node', [end('JOB_SUSPENDED', 2, null), end('JOB_SUSPENDED', 1, null)], [], []],
  ])('are %s', (_, ends, nodes, zones) => {
    expect(avoidedPlaces(ends, NOW)).toEqual({ nodes, zones });
  });
});
