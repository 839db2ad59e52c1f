import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideAbandon, decideBusy, decideFlush, type FlushFacts, RESERVE_MS } from './flush-decision.ts';
import type { Prediction } from './prediction.ts';

const takes = (medianMs: number, p95Ms = medianMs * 1.5): Prediction => ({ medianMs, p95Ms, samples: 20 });

const FACTS: FlushFacts = {
  nowMs: 1_000_000,
  deadlineMs: 1_030_000,
  confidence: 'known',
  step: 1234,
  lastGoodStep: 1200,
  unsavedMs: 90_000,
  stepRest: takes(500),
  busyMs: null,
  save: takes(4000),
  seal: takes(2000),
  agreementMs: 100,
  staged: null,
  refusal: null,
};

describe('the flush decision', () => {
  it.each<[string, Partial<FlushFacts>, string]>([
    ['it fits', {}, 'flush: it needs 8.9s (usually 6.6s) and 30s are left'],
    [
      'it does not fit',
      { deadlineMs: 1_008_000 },
      'no flush: a flush needs 8.9s and 8s are left; the last good stays step 1200, 1m 30s of work are lost',
    ],
    [
      'a staged save can be sealed and a flush does not fit',
      { deadlineMs: 1_008_000, staged: { step: 1230, seal: takes(2000) } },
      'seal the staged step 1230 in 3s; no flush: a flush needs 8.9s and 8s are left',
    ],
    ['both fit', { staged: { step: 1230, seal: takes(2000) } }, 'seal the staged step 1230 in 3s, then flush'],
    [
      'only one of the two fits, and the deadline is sure',
      { deadlineMs: 1_010_000, staged: { step: 1230, seal: takes(2000) } },
      'flush: it needs 8.9s (usually 6.6s) and 10s are left',
    ],
    [
      'only one of the two fits, and the deadline is a guess',
      { deadlineMs: 1_010_000, confidence: 'guess', staged: { step: 1230, seal: takes(2000) } },
      'seal the staged step 1230 in 3s, then flush; the deadline is a guess, so the nearly finished save comes first',
    ],
    [
      'nothing was ever timed and there is time',
      { save: null, seal: null },
      'flush as a first try: no save was timed yet, and 30s are left',
    ],
    [
      'nothing was ever timed and there is none',
      { save: null, seal: null, deadlineMs: 1_001_000, lastGoodStep: null },
      'no flush: no save was timed yet, and 1s are too short to try; nothing is sealed yet, 1m 30s of work are lost',
    ],
    [
      'the trainer evaluates',
      { busyMs: 180_000 },
      'flush as a try: it needs 8.2s from the next step on, the trainer has been busy without steps for 3m, and 30s are left',
    ],
    [
      'the trainer evaluates and nothing was ever timed',
      { busyMs: 180_000, save: null, seal: null },
      'flush as a first try: no save was timed yet, the trainer has been busy without steps for 3m, and 30s are left',
    ],
    [
      'the trainer evaluates and there is no time for a save',
      { busyMs: 180_000, deadlineMs: 1_008_000 },
      'no flush: a flush needs 8.2s and 8s are left; the last good stays step 1200, 1m 30s of work are lost',
    ],
    [
      'the disk is full',
      { refusal: 'the disk is full' },
      'no flush: the disk is full; the last good stays step 1200, 1m 30s of work are lost',
    ],
    [
      'not even the staged save can be sealed',
      { deadlineMs: 1_001_000, staged: { step: 1230, seal: takes(2000) } },
      'no flush: a flush needs 8.9s and 1s are left; the staged step 1230 cannot be sealed in time either; the last good stays step 1200, 1m 30s of work are lost',
    ],
  ])('when %s', (_, facts, sentence) => {
    expect(decideFlush({ ...FACTS, ...facts }).sentence).toBe(sentence);
  });

  it('assumes no usual step length while the trainer is busy, and reports nothing as measured', () => {
    expect(decideFlush({ ...FACTS, busyMs: 1000 }).numbers).toMatchObject({ measured: false, stepRestMs: 0 });
    expect(decideFlush(FACTS).numbers.measured).toBe(true);
  });

  it('contains its numbers, and they add up', () => {
    const { numbers, abandonAtMs } = decideFlush(FACTS);
    const { stepRestMs, agreementMs, saveMs, sealMs, reserveMs, needMs } = numbers;
    expect(needMs).toBe(stepRestMs + agreementMs + saveMs + sealMs + reserveMs);
    expect(abandonAtMs).toBe(FACTS.deadlineMs - RESERVE_MS);
  });

  const prediction = fc.tuple(fc.nat(60_000), fc.nat(60_000)).map(([a, b]) => takes(Math.min(a, b), Math.max(a, b)));
  const facts: fc.Arbitrary<FlushFacts> = fc.record({
    nowMs: fc.constant(0),
    deadlineMs: fc.integer({ min: -1000, max: 120_000 }),
    confidence: fc.constantFrom('known', 'guess'),
    step: fc.option(fc.nat()),
    lastGoodStep: fc.option(fc.nat()),
    unsavedMs: fc.nat(),
    stepRest: fc.option(prediction),
    busyMs: fc.option(fc.nat()),
    save: fc.option(prediction),
    seal: fc.option(prediction),
    agreementMs: fc.nat(5000),
    staged: fc.option(fc.record({ step: fc.nat(), seal: prediction })),
    refusal: fc.option(fc.constant('no')),
  });

  it('never starts a save that cannot end in time, and always seals a staged save that fits', () => {
    fc.assert(
      fc.property(facts, (some) => {
        const { outcome, numbers } = decideFlush(some);
        if (outcome === 'flush') expect(numbers.needMs <= numbers.leftMs && some.refusal === null).toBe(true);
        if (outcome === 'seal-staged') expect(numbers.sealStagedMs).toBeLessThanOrEqual(numbers.leftMs);
        if (outcome === 'keep-last-good') expect(numbers.sealStagedMs ?? Infinity).toBeGreaterThan(numbers.leftMs);
      }),
    );
  });

  it('never does less with more time', () => {
    const worth = { 'keep-last-good': 0, 'seal-staged': 1, flush: 1 };
    fc.assert(
      fc.property(facts, fc.nat(60_000), (some, more) => {
        const [now, later] = [decideFlush(some), decideFlush({ ...some, deadlineMs: some.deadlineMs + more })];
        expect(worth[later.outcome]).toBeGreaterThanOrEqual(worth[now.outcome]);
      }),
    );
  });
});

describe('a busy trainer that was asked for a flush', () => {
  const WAIT = { nowMs: 0, deadlineMs: 6400, busyMs: 60_000, save: takes(4000), seal: takes(2000) };

  it.each([
    ['is waited for as long as a save of the usual length would end in time', WAIT, null],
    [
      'is not when it would not',
      { ...WAIT, nowMs: 1 },
      'gave the flush up: the trainer has been busy without steps for 1m, a save usually needs 6.4s and 6.4s are left',
    ],
    ['is waited for where no save was ever timed', { ...WAIT, nowMs: 6000, save: null }, null],
  ])('%s', (_, wait, sentence) => {
    expect(decideBusy(wait)).toBe(sentence);
  });
});

describe('a running flush', () => {
  const RUNNING = { nowMs: 5000, deadlineMs: 30_000, startedMs: 0, bytesDone: 50, bytesTotal: 100, afterMs: 500 };

  it.each([
    ['goes on while it is fast enough', RUNNING, false, 'the flush goes on: 50 % written in 5s, 24.6s left'],
    [
      'is given up when it cannot end in time',
      { ...RUNNING, bytesDone: 10 },
      true,
      'gave the flush up: 10 % written in 5s, the rest needs 45.5s and 24.6s are left',
    ],
    [
      'is given up when only the reserve is left',
      { ...RUNNING, nowMs: 29_700, bytesDone: 99 },
      true,
      'gave the flush up at the deadline: 99 % written in 29.7s',
    ],
    [
      'is not judged by its first moments',
      { ...RUNNING, nowMs: 500, bytesDone: 0 },
      false,
      'the flush goes on: 0 % written in 500ms, 29.1s left',
    ],
  ])('%s', (_, progress, abandon, sentence) => {
    expect(decideAbandon(progress)).toMatchObject({ abandon, sentence });
  });

  it('is always abandoned early enough to report it', () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.nat(1000), (done, late) => {
        const nowMs = RUNNING.deadlineMs - RESERVE_MS + late;
        expect(decideAbandon({ ...RUNNING, nowMs, bytesDone: done, bytesTotal: 1000 }).abandon).toBe(true);
      }),
    );
  });
});
