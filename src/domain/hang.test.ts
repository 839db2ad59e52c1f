import { describe, expect, it } from 'vitest';
import { judgeHang, makePace, observeBusy, observeStep, type Pace, usualStepMs } from './hang.ts';

const RULES = { multiple: 10, leastMs: 1000 };

/** A trainer that took the steps, each as long as told. */
const after = (...stepsMs: readonly number[]): Pace => {
  let now = 0;
  return [0, ...stepsMs].reduce((pace, ms, index) => observeStep(pace, index, (now += ms)), makePace(0));
};

describe('a hang', () => {
  it('is no step for many times the usual', () => {
    const pace = after(500, 500, 500, 500);
    expect(judgeHang(pace, 2000 + 4900, RULES)).toMatchObject({ isHung: false, limitMs: 5000 });
    expect(judgeHang(pace, 2000 + 5100, RULES)).toEqual({
      isHung: true,
      quietMs: 5100,
      limitMs: 5000,
      sentence: 'no step for 5.1s, where one usually takes 500ms',
    });
  });

  it('is not looked for before a pace is known: the first steps compile', () => {
    expect(judgeHang(makePace(0), 3_600_000, RULES)).toMatchObject({ isHung: false, limitMs: null });
    expect(judgeHang(after(60_000, 500), 3_600_000, RULES).isHung).toBe(false);
  });

  it('is not looked for while the trainer says that it is busy, and the clock starts again afterwards', () => {
    const busy = observeBusy(after(500, 500, 500), true, 1500);
    expect(judgeHang(busy, 3_600_000, RULES)).toMatchObject({ isHung: false, sentence: 'busy for 59m 59s' });
    const back = observeBusy(busy, false, 3_600_000);
    expect(judgeHang(back, 3_604_000, RULES).isHung).toBe(false);
    expect(judgeHang(back, 3_606_000, RULES).isHung).toBe(true);
  });

  it('does not take the time of an evaluation for that of a step', () => {
    const pace = observeStep(observeBusy(after(500, 500, 500), true, 1500), 4, 900_000);
    expect(usualStepMs(pace)).toBe(500);
  });

  it('is never found sooner than the floor, however quick the steps are', () => {
    const pace = after(1, 1, 1, 1);
    expect(judgeHang(pace, 4 + 900, RULES)).toMatchObject({ isHung: false, limitMs: 1000 });
  });

  it('goes by the slow steps: one in ten that takes long is no hang', () => {
    const pace = after(...Array.from({ length: 50 }, (_, n) => (n % 10 === 9 ? 5000 : 100)));
    expect(usualStepMs(pace)).toBe(5000);
  });

  it('shares the time among steps that were reported together', () => {
    let pace = observeStep(makePace(0), 0, 0);
    for (const n of [1, 2, 3]) pace = observeStep(pace, n * 100, n * 1000);
    expect(usualStepMs(pace)).toBe(10);
  });
});
