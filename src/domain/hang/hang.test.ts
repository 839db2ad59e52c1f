import { describe, expect, it } from 'vitest';
import { judgeHang, makePace, observeBusy, observeStep, type Pace, parseHangRules, usualStepMs } from './hang.ts';

const RULES = { multiple: 10, leastMs: 1000, patientMs: 3_600_000 };

/** A trainer that took the steps, each as long as told. */
const after = (...stepsMs: readonly number[]): Pace => {
  let now = 0;
  return [0, ...stepsMs].reduce((pace, ms, index) => observeStep(pace, index, (now += ms)), makePace(0));
};

describe('a hang', () => {
  it('is a silence of many times the usual step', () => {
    const pace = after(500, 500, 500, 500);
    expect(judgeHang(pace, 2000 + 4900, RULES)).toMatchObject({ isHung: false, limitMs: 5000 });
    expect(judgeHang(pace, 2000 + 5100, RULES)).toEqual({
      isHung: true,
      quietMs: 5100,
      limitMs: 5000,
      sentence: 'no step for 5.1s, where one usually takes 500ms',
    });
  });

  it('takes very long before a pace is known: the first steps compile', () => {
    expect(judgeHang(makePace(0), 3_600_000, RULES)).toMatchObject({ isHung: false, limitMs: 3_600_000 });
    expect(judgeHang(after(60_000, 500), 3_600_000, RULES).isHung).toBe(false);
    expect(judgeHang(makePace(0), 3_600_001, RULES)).toMatchObject({ isHung: true, sentence: 'no step for 1h' });
  });

  it('allows the same time while the trainer writes a save', () => {
    const pace = after(500, 500, 500, 500);
    expect(judgeHang(pace, 3_600_000, RULES, true)).toMatchObject({ isHung: false, limitMs: 3_600_000 });
    expect(judgeHang(pace, 3_603_000, RULES, true)).toMatchObject({
      isHung: true,
      sentence: 'no step for 1h while a save is being written',
    });
  });

  it.each([
    ['auto', { multiple: 20, leastMs: 300_000, patientMs: 3_600_000 }],
    ['10m', { multiple: 0, leastMs: 600_000, patientMs: 3_600_000 }],
    ['2h', { multiple: 0, leastMs: 7_200_000, patientMs: 7_200_000 }],
    ['off', null],
  ])('--hang=%s is %j', (text, rules) => {
    expect(parseHangRules(text)).toEqual({ ok: true, value: rules });
  });

  it.each([
    ['soon', /^"soon" is not auto, off or a time such as 10m/],
    ['5', /number without a unit/],
    ['0s', /must be longer than zero/],
  ])('--hang=%s is refused', (text, reason) => {
    expect(parseHangRules(text)).toEqual({ ok: false, reason: expect.stringMatching(reason) as string });
  });

  it('with a time set by the user needs no usual step time, only a first step', () => {
    const rules = { multiple: 0, leastMs: 1000, patientMs: 3_600_000 };
    expect(judgeHang(observeStep(makePace(0), 0, 0), 1001, rules)).toMatchObject({ isHung: true, sentence: 'no step for 1s' });
    expect(judgeHang(makePace(0), 1001, rules).isHung).toBe(false);
  });

  it('is not detected while the trainer reports that it is busy, and the clock restarts afterwards', () => {
    const busy = observeBusy(after(500, 500, 500), true, 1500);
    expect(judgeHang(busy, 3_600_000, RULES)).toMatchObject({ isHung: false, sentence: 'busy for 59m 59s' });
    const back = observeBusy(busy, false, 3_600_000);
    expect(judgeHang(back, 3_604_000, RULES).isHung).toBe(false);
    expect(judgeHang(back, 3_606_000, RULES).isHung).toBe(true);
  });

  it('is not detected while any rank is busy, even if other ranks make steps', () => {
    const busy = observeBusy(observeBusy(after(500, 500, 500), true, 1500), true, 61_500);
    expect(judgeHang(observeStep(busy, 4, 100_000), 3_601_500, RULES)).toMatchObject({ isHung: false, sentence: 'busy for 1h' });
  });

  it('does not count the time of an evaluation as a step', () => {
    const pace = observeStep(observeBusy(after(500, 500, 500), true, 1500), 4, 900_000);
    expect(usualStepMs(pace)).toBe(500);
  });

  it('is never found sooner than the floor, however quick the steps are', () => {
    const pace = after(1, 1, 1, 1);
    expect(judgeHang(pace, 4 + 900, RULES)).toMatchObject({ isHung: false, limitMs: 1000 });
  });

  it('follows the slow steps: one slow step in ten is no hang', () => {
    const pace = after(...Array.from({ length: 50 }, (_, n) => (n % 10 === 9 ? 5000 : 100)));
    expect(usualStepMs(pace)).toBe(5000);
  });

  it('shares the time among steps that were reported together', () => {
    let pace = observeStep(makePace(0), 0, 0);
    for (const n of [1, 2, 3]) pace = observeStep(pace, n * 100, n * 1000);
    expect(usualStepMs(pace)).toBe(10);
  });
});
