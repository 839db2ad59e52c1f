import type { CadenceMeasurements } from '../domain/cadence.ts';
import { makePace, observeBusy, observeStep, type Pace, usualStepMs } from '../domain/hang.ts';
import { NO_SAVES, observeSave, type Prediction, predictSave, type SaveTimes } from '../domain/prediction.ts';
import type { SaveTimings } from './save-desk.ts';

/** What one life of the trainer has taught: its pace, how long saves take, and what of its work is not saved. Instants are monotonic. */
export class Measurements {
  #pace: Pace;
  #writes: SaveTimes = NO_SAVES;
  #seals: SaveTimes = NO_SAVES;
  #last: SaveTimings | null = null;
  #lastGoodStep: number | null;
  #startedMs: number;
  /** When the state that is the last good one was taken. */
  #safeSinceMs: number;

  constructor(nowMs: number, resumeStep: number | null) {
    this.#pace = makePace(nowMs);
    this.#startedMs = nowMs;
    this.#safeSinceMs = nowMs;
    this.#lastGoodStep = resumeStep;
  }

  get step(): number | null {
    return this.#pace.lastStep;
  }

  get stepMs(): number | null {
    return usualStepMs(this.#pace);
  }

  get lastGoodStep(): number | null {
    return this.#lastGoodStep;
  }

  /** True when there is something that the last good checkpoint does not have. */
  get hasProgress(): boolean {
    return this.step !== null && (this.#lastGoodStep === null || this.step > this.#lastGoodStep);
  }

  get lostSteps(): number | null {
    if (this.step === null) return null;
    return Math.max(0, this.step - (this.#lastGoodStep ?? -1));
  }

  unsavedMs(nowMs: number): number {
    return this.hasProgress ? Math.max(0, nowMs - this.#safeSinceMs) : 0;
  }

  noteStep(step: number, nowMs: number): void {
    this.#pace = observeStep(this.#pace, step, nowMs);
  }

  noteBusy(isBusy: boolean, nowMs: number): void {
    this.#pace = observeBusy(this.#pace, isBusy, nowMs);
  }

  noteSealed(timings: SaveTimings, begunMs: number): void {
    this.#writes = observeSave(this.#writes, { bytes: timings.bytes, ms: timings.writeMs });
    this.#seals = observeSave(this.#seals, { bytes: timings.bytes, ms: timings.sealMs });
    this.#last = timings;
    this.#lastGoodStep = timings.step;
    this.#safeSinceMs = begunMs;
  }

  /** Until the step that is being computed ends: at worst all of it. */
  get stepRest(): Prediction | null {
    const usual = this.stepMs;
    return usual === null ? null : { medianMs: usual / 2, p95Ms: usual, samples: this.#pace.stepsMs.length };
  }

  get write(): Prediction | null {
    return this.#last === null ? null : predictSave(this.#writes, this.#last.bytes);
  }

  get seal(): Prediction | null {
    return this.#last === null ? null : predictSave(this.#seals, this.#last.bytes);
  }

  forCadence(nowMs: number): CadenceMeasurements {
    const [write, seal] = [this.write, this.seal];
    return {
      save: write === null || seal === null ? null : { stall: write.medianMs, persist: seal.medianMs, slowdown: 0 },
      stepMs: this.stepMs,
      interruptions: 0,
      upMs: nowMs - this.#startedMs,
      restartMs: null,
      flushed: 0,
      flushMs: (write?.medianMs ?? 0) + (seal?.medianMs ?? 0),
    };
  }
}
