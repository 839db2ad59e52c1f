import { describe, expect, it } from 'vitest';
import { createRng, type Rng } from '../../core/rng.ts';
import { decideFlush, RESERVE_MS } from './flush-decision.ts';
import { NO_SAVES, observeSave, predictSave } from './prediction.ts';

const normal = (rng: Rng): number => Math.sqrt(-2 * Math.log(1 - rng.next())) * Math.cos(2 * Math.PI * rng.next());

/** A disk as a function: the factor by which the next save is slower than usual. */
type Disk = (rng: Rng) => number;

const steady = (): Disk => (rng) => Math.exp(0.05 * normal(rng));
const ordinary = (): Disk => (rng) => Math.exp(0.2 * normal(rng));
/** A neighbour that comes and goes; while it is there, every save takes three times as long. */
const disturbed = (): Disk => {
  let isDisturbed = false;
  return (rng) => {
    if (rng.next() > 0.97) isDisturbed = rng.next() < 0.3;
    return (isDisturbed ? 3 : 1) * Math.exp(0.1 * normal(rng));
  };
};

const WRITE_MS = 2000;
const SEAL_MS = 3000;
const STEP_MS = 500;
const USUAL_MS = WRITE_MS + SEAL_MS + STEP_MS / 2 + RESERVE_MS;

/**
 * One run: thirty saves, then a notice with a grace of 0.3 to 10 times the usual need of a flush.
 */
function trial(disk: Disk, rng: Rng): { readonly isStarted: boolean; readonly isPossible: boolean } {
  let [writes, seals] = [NO_SAVES, NO_SAVES];
  for (let n = 0; n < 30; n++) {
    const slower = disk(rng);
    writes = observeSave(writes, { bytes: 1e9, ms: WRITE_MS * slower });
    seals = observeSave(seals, { bytes: 1e9, ms: SEAL_MS * slower });
  }
  const graceMs = USUAL_MS * (0.3 + 9.7 * rng.next());
  const { outcome } = decideFlush({
    nowMs: 0,
    deadlineMs: graceMs,
    confidence: 'known',
    step: 1,
    lastGoodStep: 0,
    unsavedMs: 1,
    stepRest: { medianMs: STEP_MS / 2, p95Ms: STEP_MS, samples: 30 },
    busyMs: null,
    save: predictSave(writes, 1e9),
    seal: predictSave(seals, 1e9),
    agreementMs: 0,
    staged: null,
    refusal: null,
  });
  const needsMs = STEP_MS * rng.next() + (WRITE_MS + SEAL_MS) * disk(rng) + RESERVE_MS;
  return { isStarted: outcome === 'flush', isPossible: needsMs <= graceMs };
}

describe('many flushes', () => {
  it.each([
    ['a steady disk', steady],
    ['an ordinary disk', ordinary],
    ['a disk that is disturbed for minutes', disturbed],
  ])('on %s almost no flush misses, and nine of ten possible ones are made', (_, makeDisk) => {
    const trials = Array.from({ length: 400 }, (__, seed) => trial(makeDisk(), createRng(seed)));
    const inVain = trials.filter(({ isStarted, isPossible }) => isStarted && !isPossible).length;
    const possible = trials.filter(({ isPossible }) => isPossible);
    expect(inVain / trials.length).toBeLessThanOrEqual(2 / 200);
    expect(possible.filter(({ isStarted }) => isStarted).length / possible.length).toBeGreaterThanOrEqual(0.9);
  });
});
