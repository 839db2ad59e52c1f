import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRng } from '../../core/rng.ts';
import { backOffMs, LONGEST_BACK_OFF_MS } from './back-off.ts';
import { batchSize } from './batch-size.ts';
import { judgeCommit } from './fencing.ts';
import { ITEM_STATES, STATE_NAMES, stateName } from './item-state.ts';
import { downtimeShift, leaseTimes } from './lease-times.ts';
import { parseKey, parseQueueName } from './names.ts';
import { countsAsDeath, isPoison } from './poison.ts';
import { podEnd } from './pod-end.ts';
import { takeHead } from './take-head.ts';

describe('judgeCommit', () => {
  const standing = { token: 7, generation: 2, isOpen: true, result: null };
  const handed = { token: 7, generation: 2, result: '1' };
  it.each([
    ['the newest token writes', standing, handed, 'write'],
    ['an older token is fenced', standing, { ...handed, token: 6 }, 'fenced'],
    ['a token nobody gave out is fenced', standing, { ...handed, token: 8 }, 'fenced'],
    ['an older generation is fenced', standing, { ...handed, generation: 1 }, 'fenced'],
    ['a worker that gave the item back is fenced', { ...standing, isOpen: false }, handed, 'fenced'],
    ['equal bytes are accepted from any token', { ...standing, result: '1' }, { ...handed, token: 3 }, 'same'],
    ['other bytes are refused even from the newest token', { ...standing, result: '2' }, handed, 'differs'],
  ] as const)('%s', (_, stands, hands, verdict) => {
    expect(judgeCommit(stands, hands)).toBe(verdict);
  });
});

describe('isPoison', () => {
  const on = (...places: readonly string[]) => places.map((place, i) => ({ node: place, process: `p${i}` }));
  it.each([
    ['four deaths are too few', on('a', 'b', 'a', 'b'), 2, false],
    ['five deaths on two nodes set an item aside', on('a', 'b', 'a', 'a', 'a'), 2, true],
    ['five deaths on one of several nodes may be the fault of the node', on('a', 'a', 'a', 'a', 'a'), 2, false],
    ['where there is one node, five processes set an item aside', on('a', 'a', 'a', 'a', 'a'), 1, true],
    ['five deaths of one process on the only node are too few', on('a').concat(on('a'), on('a'), on('a'), on('a')), 1, false],
  ] as const)('%s', (_, deaths, nodes, expected) => {
    expect(isPoison(deaths, { deaths: 5, nodes })).toBe(expected);
  });

  it('counts a loss as a death only if the item was alone and nothing explains the loss', () => {
    expect(countsAsDeath({ together: 1, explanation: null })).toBe(true);
    expect(countsAsDeath({ together: 2, explanation: null })).toBe(false);
    expect(countsAsDeath({ together: 1, explanation: 'SIGTERM' })).toBe(false);
  });
});

describe('podEnd', () => {
  const running = { disruption: null, isDeleting: false, hasEnded: false, reason: null, isNodeLost: false };
  it.each([
    ['a running pod keeps its leases', running, null],
    [
      'an eviction explains, and leaves the worker its time',
      { ...running, disruption: 'EvictionByEvictionAPI', isDeleting: true },
      { notice: 'DisruptionTarget/EvictionByEvictionAPI', isGone: false },
    ],
    ['so does a deletion', { ...running, isDeleting: true }, { notice: 'the pod was deleted', isGone: false }],
    ['a lost node ends the leases', { ...running, isNodeLost: true }, { notice: 'the node of the pod is lost', isGone: true }],
    ['a crash ends the leases, and nothing explains it', { ...running, hasEnded: true }, { notice: null, isGone: true }],
    ['a pod above its own limit is no interruption', { ...running, hasEnded: true, reason: 'Evicted' }, { notice: null, isGone: true }],
    [
      'a shutdown of its machine is one',
      { ...running, hasEnded: true, reason: 'NodeShutdown' },
      { notice: 'the pod ended with NodeShutdown', isGone: true },
    ],
  ])('%s', (_, facts, expected) => {
    expect(podEnd(facts)).toEqual(expected);
  });
});

describe('batchSize', () => {
  it('is one until an item is measured', () => {
    expect(batchSize({ itemMs: null, interruptionsPerMs: 0, requestMs: 2 }, 100)).toBe(1);
  });

  it('never leases more than five seconds of work ahead', () => {
    expect(batchSize({ itemMs: 100, interruptionsPerMs: 0, requestMs: 2 }, 1000)).toBe(50);
  });

  it('shrinks as interruptions become more frequent, and stays within its bounds', () => {
    const weather = fc.record({
      itemMs: fc.double({ min: 0.01, max: 1e6, noNaN: true }),
      interruptionsPerMs: fc.double({ min: 0, max: 1, noNaN: true }),
      requestMs: fc.double({ min: 0.1, max: 1000, noNaN: true }),
    });
    fc.assert(
      fc.property(weather, fc.integer({ min: 1, max: 2000 }), (given, most) => {
        const size = batchSize(given, most);
        expect(size).toBeGreaterThanOrEqual(1);
        expect(size).toBeLessThanOrEqual(Math.min(most, 1000));
        expect(batchSize({ ...given, interruptionsPerMs: given.interruptionsPerMs * 2 }, most)).toBeLessThanOrEqual(size);
      }),
    );
  });
});

describe('the times of leases', () => {
  it('allow three renewals within a lease, and end the grace of a dropped connection before the lease', () => {
    expect(leaseTimes(30_000)).toEqual({ leaseMs: 30_000, renewMs: 10_000, reconnectMs: 5000 });
    expect(leaseTimes(2000)).toEqual({ leaseMs: 2000, renewMs: 666, reconnectMs: 1000 });
  });

  it.each([
    ['the first look shifts nothing', null, null],
    ['an ordinary beat shifts nothing', 99_000, null],
    ['a server that was away for ten seconds gives them to the leases', 90_000, { addMs: 10_000, latest: 130_000 }],
    ['a clock that went back only cuts leases to their usual length', 200_000, { addMs: 0, latest: 130_000 }],
  ])('%s', (_, lastLook, expected) => {
    expect(downtimeShift(lastLook, 100_000, 30_000)).toEqual(expected);
  });

  it('double the back-off up to its bound', () => {
    const rng = createRng(1);
    for (let tries = 1; tries < 60; tries++) {
      const exact = Math.min(300_000, 1000 * 2 ** (tries - 1));
      const waits = backOffMs(tries, rng);
      expect(waits).toBeGreaterThanOrEqual(exact * 0.8 - 1);
      expect(waits).toBeLessThanOrEqual(Math.min(exact * 1.2 + 1, LONGEST_BACK_OFF_MS));
    }
  });
});

describe('takeHead', () => {
  const items = (...alone: readonly number[]) => Array.from({ length: 4 }, (_, i) => ({ isAlone: alone.includes(i), length: 10 }));
  it.each([
    ['takes all when none must be alone', items(), 4],
    ['takes an item alone that must be alone', items(0, 1), 1],
    ['stops before an item that must be alone', items(2), 2],
    ['takes nothing of nothing', [], 0],
  ])('%s', (_, head, count) => {
    expect(takeHead(head, 1000)).toBe(count);
  });

  it('takes the items that fit, and always the first item', () => {
    expect(takeHead(items(), 39)).toBe(3);
    expect(takeHead(items(), 40)).toBe(4);
    expect(takeHead(items(), 1)).toBe(1);
  });
});

describe('names', () => {
  it('finds every state again by its number', () => {
    for (const name of STATE_NAMES) expect(stateName(ITEM_STATES[name])).toBe(name);
    expect(() => stateName(99)).toThrow(RangeError);
  });

  it.each([['images'], ['a.b-c_1'], ['A'.repeat(63)]])('%s is the name of a queue', (name) => {
    expect(parseQueueName(name)).toEqual({ ok: true, value: name });
  });

  it.each([[''], ['-a'], ['a/b'], ['a b'], ['A'.repeat(64)], ['bücher']])('"%s" is not the name of a queue', (name) => {
    expect(parseQueueName(name).ok).toBe(false);
  });

  it('accepts as a key any text that a database can hold', () => {
    expect(parseKey('photos/Köln 1.jpg').ok).toBe(true);
    for (const wrong of ['', 'a\u0000b', 'a\nb', '\ud800', 'ü'.repeat(300)]) expect(parseKey(wrong).ok).toBe(false);
  });
});
