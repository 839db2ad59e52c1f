import { describe, expect, it } from 'vitest';
import type { RunHistory } from '../../ledger/history.ts';
import { Measurements } from './measurements.ts';

const NOTHING: RunHistory = { attempts: 0, upMs: 0, interruptions: 0, flushed: 0, restartMs: null, writes: [], stalls: [], seals: [] };
const HOUR = 3_600_000;

describe('the measurements of an attempt', () => {
  it('start from the history of earlier attempts', () => {
    const saves = [1000, 1100, 1050].map((ms) => ({ bytes: 1e9, ms }));
    const history = {
      ...NOTHING,
      attempts: 3,
      upMs: 5 * HOUR,
      interruptions: 2,
      flushed: 1,
      restartMs: 60_000,
      writes: saves,
      stalls: saves.map(({ bytes, ms }) => ({ bytes, ms: ms / 100 })),
      seals: saves,
    };
    const measured = new Measurements(0, 40, () => history);
    expect(measured.write?.medianMs).toBeCloseTo(1050);
    expect(measured.seal?.samples).toBe(3);
    expect(measured.forCadence(HOUR)).toMatchObject({ upMs: 6 * HOUR, interruptions: 2, flushed: 1, restartMs: 60_000 });
    // A save costs the trainer only its stall, however long the write continues meanwhile.
    expect(measured.forCadence(HOUR).save?.stall).toBeCloseTo(10.5);
  });

  it('predict no save times before the first save is sealed', () => {
    const measured = new Measurements(0, null, () => NOTHING);
    expect([measured.write, measured.seal, measured.forCadence(0).save]).toEqual([null, null, null]);
    measured.noteSealed({ step: 5, bytes: 1e6, writeMs: 20, stallMs: 20, sealMs: 30 }, 100);
    expect(measured.forCadence(0).save).toMatchObject({ stall: expect.closeTo(20) as number, persist: expect.closeTo(30) as number });
    expect(measured.lastGoodStep).toBe(5);
  });

  it('count all time since the last save as unsaved when the framework saves by itself and no rank reports steps', () => {
    const measured = new Measurements(1000, null, () => NOTHING);
    expect(measured.unsavedMs(5000)).toBe(0);
    measured.noteWatched();
    expect(measured.unsavedMs(5000)).toBe(4000);
    measured.noteNewest({ step: 10, sinceMs: 4000 });
    expect([measured.unsavedMs(5000), measured.lastGoodStep]).toEqual([1000, 10]);
    measured.noteNewest(null);
    expect([measured.unsavedMs(5000), measured.lastGoodStep]).toEqual([4000, null]);
  });

  it('take the furthest sealed step of this attempt as the last good one, and ignore earlier attempts', () => {
    const measured = new Measurements(0, 40, () => NOTHING);
    const lastGoodAfter = (step: number): number | null => {
      measured.noteSealed({ step, bytes: 1, writeMs: 1, stallMs: 1, sealMs: 1 }, step);
      return measured.lastGoodStep;
    };
    expect([20, 30, 25].map(lastGoodAfter)).toEqual([20, 30, 30]);
  });

  it('drop the steps of workers that were restarted, and keep the sealed step', () => {
    const measured = new Measurements(0, null, () => NOTHING);
    for (let step = 0; step <= 10; step++) measured.noteStep(step, step * 100);
    measured.noteSealed({ step: 8, bytes: 1, writeMs: 1, stallMs: 1, sealMs: 1 }, 800);
    measured.startAgain(5000);
    expect([measured.step, measured.hasProgress, measured.unsavedMs(6000), measured.lastGoodStep]).toEqual([null, false, 0, 8]);
    expect([measured.quickStepMs, measured.stepMs]).toEqual([100, null]);
    measured.noteStep(9, 7000);
    expect([measured.hasProgress, measured.unsavedMs(7000), measured.lostSteps]).toEqual([true, 2000, 1]);
  });

  it('read the history once, at its first use', () => {
    let reads = 0;
    const measured = new Measurements(0, null, () => {
      reads++;
      return NOTHING;
    });
    measured.noteStep(1, 10);
    expect(reads).toBe(0);
    measured.forCadence(0);
    measured.forCadence(1);
    expect(reads).toBe(1);
  });
});
