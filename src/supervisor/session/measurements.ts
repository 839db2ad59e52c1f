import type { CadenceMeasurements } from '../../domain/cadence/cadence.ts';
import {
  type HangRules,
  type HangVerdict,
  judgeHang,
  makePace,
  observeBusy,
  observeStep,
  type Pace,
  usualStepMs,
} from '../../domain/hang/hang.ts';
import {
  joinErrors,
  NO_SAVES,
  observeSave,
  type Prediction,
  type PredictionError,
  predictSave,
  type SaveTimes,
} from '../../domain/grace/prediction.ts';
import type { RunHistory } from '../../ledger/history.ts';
import type { SaveTimings } from '../saves/save-timings.ts';

/** The history of saves and interruptions over all attempts of the run. */
interface Known {
  readonly history: RunHistory;
  readonly writes: SaveTimes;
  readonly stalls: SaveTimes;
  readonly seals: SaveTimes;
  readonly lastBytes: number | null;
}

/**
 * Measures one trainer session, starting from the history of earlier ones. It knows the trainer's
 * pace, the time that saves take, the rate of interruptions and the work that is not saved.
 * Instants are monotonic.
 */
export class Measurements {
  readonly #readHistory: () => RunHistory;
  #pace: Pace;
  /** Kept from workers before a restart: the same program makes steps of the same length. */
  #formerQuickMs: number | null = null;
  #known: Known | null = null;
  #lastGoodStep: number | null;
  #startedMs: number;
  #isWatched = false;
  /** True when the last good checkpoint belongs to this attempt. */
  #hasSealed = false;
  /** The time at which the trainer captured the state of the last good checkpoint. */
  #safeSinceMs: number;

  /** `readHistory` is called at its first use, after the trainer has started. */
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

  /** The time of the quickest step seen; null before the first. */
  get quickStepMs(): number | null {
    return this.#pace.stepsMs.length === 0 ? this.#formerQuickMs : Math.min(...this.#pace.stepsMs);
  }

  get lastGoodStep(): number | null {
    return this.#lastGoodStep;
  }

  /** The time of recent steps as they really ran; null before the first. */
  get stepsPerSecond(): number | null {
    const { stepsMs } = this.#pace;
    const totalMs = stepsMs.reduce((sum, ms) => sum + ms, 0);
    return totalMs > 0 ? (1000 * stepsMs.length) / totalMs : null;
  }

  judgeHang(nowMs: number, rules: HangRules, isSaving: boolean): HangVerdict {
    return judgeHang(this.#pace, nowMs, rules, isSaving);
  }

  /**
   * The age of the state in the last good checkpoint. For a checkpoint that was resumed from, it
   * counts from the trainer's start.
   */
  lastGoodAgeMs(nowMs: number): number | null {
    return this.#lastGoodStep === null ? null : Math.max(0, nowMs - this.#safeSinceMs);
  }

  /**
   * The time of the trainer's last sign of activity; null while the trainer says that it is busy.
   */
  get quietSinceMs(): number | null {
    return this.#pace.busySinceMs === null ? this.#pace.lastProgressMs : null;
  }

  /** How long the trainer has been busy without steps, by its own word; null: it is not busy. */
  busyMs(nowMs: number): number | null {
    const { busySinceMs } = this.#pace;
    return busySinceMs === null ? null : Math.max(0, nowMs - busySinceMs);
  }

  /** True when the trainer has made progress since the last good checkpoint. */
  get hasProgress(): boolean {
    return this.step !== null && (this.#lastGoodStep === null || this.step > this.#lastGoodStep);
  }

  get lostSteps(): number | null {
    if (this.step === null) return null;
    return Math.max(0, this.step - (this.#lastGoodStep ?? -1));
  }

  /** Notes that the trainer's framework saves by itself and that a watcher sees its saves. */
  get isWatched(): boolean {
    return this.#isWatched;
  }

  unsavedMs(nowMs: number): number {
    const isUnsaved = this.hasProgress || (this.#isWatched && this.step === null);
    return isUnsaved ? Math.max(0, nowMs - this.#safeSinceMs) : 0;
  }

  /**
   * Notes that the trainer's workers were restarted. They resume from the last good checkpoint, so
   * the later steps of earlier workers no longer count.
   */
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
    // Within an attempt, resume takes the furthest step. A checkpoint of an earlier attempt is
    // always older.
    if (this.#hasSealed && timings.step < (this.#lastGoodStep ?? -1)) return;
    this.#hasSealed = true;
    this.#lastGoodStep = timings.step;
    this.#safeSinceMs = begunMs;
  }

  /**
   * The trainer's framework saves by itself and no rank reports steps. All time since the last save
   * is thus unsaved work.
   */
  noteWatched(): void {
    this.#isWatched = true;
  }

  /**
   * Sets the newest sealed checkpoint of the framework's own saves, after one was sealed, deleted
   * or overwritten. Null: no sealed save is left. `sinceMs` is the time at which that save was
   * written; null: before this trainer was started.
   */
  noteNewest(newest: { readonly step: number; readonly sinceMs: number | null } | null): void {
    this.#lastGoodStep = newest?.step ?? null;
    this.#safeSinceMs = newest?.sinceMs ?? this.#startedMs;
  }

  /** Notes that all nodes agreed to resume from an older step. */
  noteTaken(step: number): void {
    this.#lastGoodStep = step;
  }

  /** The time until the current step ends; at worst the whole step. */
  get stepRest(): Prediction | null {
    const usual = this.stepMs;
    return usual === null ? null : { medianMs: usual / 2, p95Ms: usual, samples: this.#pace.stepsMs.length };
  }

  get write(): Prediction | null {
    const { writes, lastBytes } = this.#knowledge();
    return lastBytes === null ? null : predictSave(writes, lastBytes);
  }

  /** The part of that time for which the trainer stands still. */
  get #stall(): Prediction | null {
    const { stalls, lastBytes } = this.#knowledge();
    return lastBytes === null ? null : predictSave(stalls, lastBytes);
  }

  get seal(): Prediction | null {
    const { seals, lastBytes } = this.#knowledge();
    return lastBytes === null ? null : predictSave(seals, lastBytes);
  }

  /**
   * How well save times were predicted in this run: the time to write, and the time from there to
   * the seal.
   */
  get predictionError(): PredictionError {
    const { writes, seals } = this.#knowledge();
    return joinErrors(writes.error, seals.error);
  }

  /** The size of the last save; null: no save was ever made. */
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
