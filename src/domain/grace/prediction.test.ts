import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRng, type Rng } from '../../core/rng.ts';
import { joinErrors, NO_SAVES, observeSave, predictSave, type SaveTimes } from './prediction.ts';

const GB = 1e9;

/** A standard normal number. */
const normal = (rng: Rng): number => Math.sqrt(-2 * Math.log(1 - rng.next())) * Math.cos(2 * Math.PI * rng.next());

/** The duration of the n-th save of a gigabyte, in milliseconds, on different disks. */
const DISKS: Readonly<Record<string, (n: number, rng: Rng) => number>> = {
  'a steady disk': (_, rng) => 1000 * Math.exp(0.03 * normal(rng)),
  'an ordinary disk': (_, rng) => 1000 * Math.exp(0.2 * normal(rng)),
  'a restless disk': (_, rng) => 1000 * Math.exp(0.6 * normal(rng)),
  'a disk that a neighbour disturbs one time in five': (_, rng) => (rng.next() < 0.2 ? 3000 : 1000) * Math.exp(0.1 * normal(rng)),
  'a disk that a neighbour disturbs for a while': (n, rng) => (n % 25 < 8 ? 3000 : 1000) * Math.exp(0.1 * normal(rng)),
  'a disk that gets slower and slower': (n, rng) => 1000 * (1 + n / 100) * Math.exp(0.1 * normal(rng)),
  'a disk that is slow by day': (n, rng) => (n % 60 < 30 ? 1000 : 1500) * Math.exp(0.1 * normal(rng)),
};

function learn(disk: (n: number, rng: Rng) => number, saves: number, seed: number): SaveTimes {
  const rng = createRng(seed);
  let times = NO_SAVES;
  for (let n = 0; n < saves; n++) times = observeSave(times, { bytes: GB, ms: disk(n, rng) });
  return times;
}

describe('the prediction of saves', () => {
  it.each(Object.entries(DISKS))('on %s: 90 to 99 of 100 saves end within the P95', (_, disk) => {
    let [within, compared] = [0, 0];
    for (let seed = 1; seed <= 20; seed++) {
      const { error } = learn(disk, 200, seed);
      within += error.withinP95;
      compared += error.compared;
    }
    expect(within / compared).toBeGreaterThanOrEqual(0.9);
    expect(within / compared).toBeLessThanOrEqual(0.99);
  });

  it('predicts at most four times the slower of two saves that differ a lot', () => {
    const times = [60, 900].reduce((known, ms) => observeSave(known, { bytes: 100, ms }), NO_SAVES);
    expect(predictSave(times, 100)?.p95Ms).toBeCloseTo(3600);
  });

  it('keeps that bound while there are few saves', () => {
    let [within, compared] = [0, 0];
    for (let seed = 1; seed <= 200; seed++) {
      const { error } = learn(DISKS['an ordinary disk'] as (n: number, rng: Rng) => number, 8, seed);
      within += error.withinP95;
      compared += error.compared;
    }
    expect(within / compared).toBeGreaterThanOrEqual(0.9);
    expect(within / compared).toBeLessThanOrEqual(0.99);
  });

  it('is no wider than necessary on a steady disk', () => {
    const times = learn(DISKS['a steady disk'] as (n: number, rng: Rng) => number, 30, 7);
    const { medianMs, p95Ms, samples } = predictSave(times, GB) ?? { medianMs: 0, p95Ms: 0, samples: 0 };
    expect(medianMs / 1000).toBeCloseTo(1, 1);
    expect(p95Ms / medianMs).toBeLessThan(1.15);
    expect(samples).toBe(30);
  });

  it('follows the newest saves while a disturbance lasts', () => {
    const { medianMs = 0, p95Ms = 0 } =
      predictSave(learn(DISKS['a disk that a neighbour disturbs for a while'] as (n: number, rng: Rng) => number, 55, 1), GB) ?? {};
    expect(medianMs).toBeGreaterThan(2000);
    expect(p95Ms).toBeLessThan(4500);
  });

  it('measures its own error', () => {
    const { error } = learn(DISKS['an ordinary disk'] as (n: number, rng: Rng) => number, 100, 3);
    expect(error.compared).toBe(99);
    expect(error.meanDeviation).toBeGreaterThan(0.1);
    expect(error.meanDeviation).toBeLessThan(0.25);
  });

  it('is null before the first save', () => {
    expect(predictSave(NO_SAVES, GB)).toBeNull();
  });

  it('weights the errors of several kinds by their numbers of comparisons', () => {
    const [often, rarely] = [
      { compared: 9, withinP95: 9, meanDeviation: 0.1 },
      { compared: 1, withinP95: 0, meanDeviation: 0.6 },
    ];
    expect(joinErrors(often, rarely)).toMatchObject({ compared: 10, withinP95: 9, meanDeviation: expect.closeTo(0.15) as number });
    expect(joinErrors(NO_SAVES.error)).toEqual(NO_SAVES.error);
  });

  it('prefers saves of similar size, and scales others by their bytes', () => {
    let times = NO_SAVES;
    for (let n = 0; n < 10; n++) times = observeSave(times, { bytes: GB, ms: 1000 });
    expect(predictSave(times, 8 * GB)?.medianMs).toBeCloseTo(8000, 0);
    for (let n = 0; n < 10; n++) times = observeSave(times, { bytes: 8 * GB, ms: 4000 });
    expect(predictSave(times, 8 * GB)?.medianMs).toBeCloseTo(4000, 0);
  });

  it('ignores values that cannot be measurements', () => {
    for (const ms of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) expect(observeSave(NO_SAVES, { bytes: 1, ms })).toBe(NO_SAVES);
  });

  it('is never below its median, is finite, and grows with the size, for any measurements', () => {
    const save = fc.record({ bytes: fc.nat(2 ** 40), ms: fc.double({ min: 0.01, max: 1e7, noNaN: true }) });
    fc.assert(
      fc.property(fc.array(save, { minLength: 1, maxLength: 80 }), fc.nat(2 ** 40), (saves, bytes) => {
        const times = saves.reduce(observeSave, NO_SAVES);
        const predicted = predictSave(times, bytes);
        expect(predicted?.p95Ms).toBeGreaterThanOrEqual(predicted?.medianMs ?? 0);
        expect(Number.isFinite(predicted?.medianMs)).toBe(true);
      }),
    );
  });
});
