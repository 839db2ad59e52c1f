import type { CadenceMeasurements } from '../domain/cadence.ts';
import { type HangRules, type HangVerdict, judgeHang, makePace, observeBusy, observeStep, type Pace, usualStepMs } from '../domain/hang.ts';
import {
  joinErrors,
  NO_SAVES,
  observeSave,
  type Prediction,
  type PredictionError,
  predictSave,
  type SaveTimes,
} from '../domain/prediction.ts';
import type { RunHistory } from '../ledger/history.ts';
import type { SaveTimings } from './save-timings.ts';

/** What is known about saves and interruptions of the run, over all its attempts. */
interface Known {
  readonly history: RunHistory;
  readonly writes: SaveTimes;
  readonly stalls: SaveTimes;
  readonly seals: SaveTimes;
  readonly lastBytes: number | null;
}

/**
 * What one life of the trainer has taught, and the ones before it: its pace, how long saves take, how often it is interrupted, and what of its
 * work is not saved. Instants are monotonic.
 */
export class Measurements {
  readonly #readHistory: () => RunHistory;
  #pace: Pace;
  /** Of workers before these: the same program makes steps of the same length. */
  #formerQuickMs: number | null = null;
  #known: Known | null = null;
  #lastGoodStep: number | null;
  #startedMs: number;
  #isWatched = false;
  /** When the state that is the last good one was taken. */
  #safeSinceMs: number;

  /** `readHistory` is asked when it is first needed, which is after the trainer has been started. */
  constructor(nowMs: number, resumeStep: number | null, readHistory: () => RunHistory) {
    this.#readHistory = readHistory;
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

  /** Of the quickest step seen; null before the first. */
  get quickStepMs(): number | null {
    return this.#pace.stepsMs.length === 0 ? this.#formerQuickMs : Math.min(...this.#pace.stepsMs);
  }

  get lastGoodStep(): number | null {
    return this.#lastGoodStep;
  }

  /** Of the last steps, by the time that they really took; null before the first. */
  get stepsPerSecond(): number | null {
    const { stepsMs } = this.#pace;
    const totalMs = stepsMs.reduce((sum, ms) => sum + ms, 0);
    return totalMs > 0 ? (1000 * stepsMs.length) / totalMs : null;
  }

  judgeHang(nowMs: number, rules: HangRules, isSaving: boolean): HangVerdict {
    return judgeHang(this.#pace, nowMs, rules, isSaving);
  }

  /** How long ago the state was taken that is the last good one; of one that was resumed from, since the trainer was started. */
  lastGoodAgeMs(nowMs: number): number | null {
    return this.#lastGoodStep === null ? null : Math.max(0, nowMs - this.#safeSinceMs);
  }

  /** The trainer's last sign of life; null while it says that it does something long. */
  get quietSinceMs(): number | null {
    return this.#pace.busySinceMs === null ? this.#pace.lastProgressMs : null;
  }

  /** How long the trainer says that it has been doing something without steps; null: it does not. */
  busyMs(nowMs: number): number | null {
    const { busySinceMs } = this.#pace;
    return busySinceMs === null ? null : Math.max(0, nowMs - busySinceMs);
  }

  /** True when there is something that the last good checkpoint does not have. */
  get hasProgress(): boolean {
    return this.step !== null && (this.#lastGoodStep === null || this.step > this.#lastGoodStep);
  }

  get lostSteps(): number | null {
    if (this.step === null) return null;
    return Math.max(0, this.step - (this.#lastGoodStep ?? -1));
  }

  /** The trainer's framework saves by itself, and its saves are seen. */
  get isWatched(): boolean {
    return this.#isWatched;
  }

  unsavedMs(nowMs: number): number {
    const isUnsaved = this.hasProgress || (this.#isWatched && this.step === null);
    return isUnsaved ? Math.max(0, nowMs - this.#safeSinceMs) : 0;
  }

  /** The trainer's workers were started again, and go on from what is the last good one: steps that others made after it are not theirs. */
  startAgain(nowMs: number): void {
    this.#formerQuickMs = this.quickStepMs;
    this.#pace = makePace(nowMs);
    this.#safeSinceMs = nowMs;
  }

  noteStep(step: number, nowMs: number): void {
    this.#pace = observeStep(this.#pace, step, nowMs);
  }

  noteBusy(isBusy: boolean, nowMs: number): void {
    this.#pace = observeBusy(this.#pace, isBusy, nowMs);
  }

  noteSealed(timings: Omit<SaveTimings, 'phases'>, begunMs: number): void {
    const { history, writes, stalls, seals } = this.#knowledge();
    this.#known = {
      history,
      stalls: observeSave(stalls, { bytes: timings.bytes, ms: timings.stallMs }),
      writes: observeSave(writes, { bytes: timings.bytes, ms: timings.writeMs }),
      seals: observeSave(seals, { bytes: timings.bytes, ms: timings.sealMs }),
      lastBytes: timings.bytes,
    };
    this.#lastGoodStep = timings.step;
    this.#safeSinceMs = begunMs;
  }

  /** The trainer's framework saves by itself: steps are not told, and all the time since the last save is work that is not saved. */
  noteWatched(): void {
    this.#isWatched = true;
  }

  /** A save of the framework's own was sealed. */
  noteAdopted(step: number, nowMs: number): void {
    this.#lastGoodStep = step;
    this.#safeSinceMs = nowMs;
  }

  /** The framework has deleted or replaced what was sealed: `step` is the newest that is left, null when nothing is. */
  noteTaken(step: number | null): void {
    this.#lastGoodStep = step;
    if (step === null) this.#safeSinceMs = this.#startedMs;
  }

  /** Until the step that is being computed ends: at worst all of it. */
  get stepRest(): Prediction | null {
    const usual = this.stepMs;
    return usual === null ? null : { medianMs: usual / 2, p95Ms: usual, samples: this.#pace.stepsMs.length };
  }

  get write(): Prediction | null {
    const { writes, lastBytes } = this.#knowledge();
    return lastBytes === null ? null : predictSave(writes, lastBytes);
  }

  /** How much of that the trainer stands still. */
  get #stall(): Prediction | null {
    const { stalls, lastBytes } = this.#knowledge();
    return lastBytes === null ? null : predictSave(stalls, lastBytes);
  }

  get seal(): Prediction | null {
    const { seals, lastBytes } = this.#knowledge();
    return lastBytes === null ? null : predictSave(seals, lastBytes);
  }

  /** How well saves were predicted here: until they were written, and from then until they were sealed. */
  get predictionError(): PredictionError {
    const { writes, seals } = this.#knowledge();
    return joinErrors(writes.error, seals.error);
  }

  /** Of the last save; null: none was ever made. */
  get lastBytes(): number | null {
    return this.#knowledge().lastBytes;
  }

  forCadence(nowMs: number): CadenceMeasurements {
    const { history } = this.#knowledge();
    const [write, stall, seal] = [this.write, this.#stall, this.seal];
    return {
      save: stall === null || seal === null ? null : { stall: stall.medianMs, persist: seal.medianMs, slowdown: 0 },
      stepMs: this.stepMs,
      interruptions: history.interruptions,
      upMs: history.upMs + nowMs - this.#startedMs,
      restartMs: history.restartMs,
      flushed: history.flushed,
      flushMs: (write?.medianMs ?? 0) + (seal?.medianMs ?? 0),
    };
  }

  #knowledge(): Known {
    if (this.#known === null) {
      const history = this.#readHistory();
      const [writes, stalls, seals] = [history.writes, history.stalls, history.seals].map((saves) => saves.reduce(observeSave, NO_SAVES));
      const times = { writes: writes ?? NO_SAVES, stalls: stalls ?? NO_SAVES, seals: seals ?? NO_SAVES };
      this.#known = { history, ...times, lastBytes: history.writes.at(-1)?.bytes ?? null };
    }
    return this.#known;
  }
}
