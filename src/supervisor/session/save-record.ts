import { fencedError, newestAttempt } from '../../store/attempt/attempt.ts';
import type { OpenSave } from '../saves/open-save.ts';
import type { Clock } from '../../core/clock.ts';
import { formatBytes } from '../../core/bytes.ts';
import { formatDuration } from '../../core/duration.ts';
import type { EventOf } from '../../ledger/events.ts';
import type { Resume } from '../base/resume.ts';
import type { SessionOptions } from './session-options.ts';
import type { Measurements } from './measurements.ts';
import type { Ranks } from './ranks.ts';
import type { SaveEvents } from '../saves/save-coordinator.ts';
import type { SaveTimings } from '../saves/save-timings.ts';
import type { SaveReason } from '../sdk/protocol.ts';
import type { SealedSave, SealPhases } from '../saves/sealing/seal-messages.ts';

/** The outcome of one save. */
export interface SaveOutcome {
  readonly isSealed: boolean;
  readonly step: number;
  /** When the trainer captured its state; monotonic. */
  readonly begunMs: number;
}

/** A save that failed, and the reason. */
export interface LostSave {
  readonly step: number;
  readonly reason: string;
}

interface RecordOptions extends Pick<SessionOptions, 'options' | 'store' | 'attempt' | 'log' | 'onSafe' | 'onFenced'> {
  readonly ranks: Ranks;
  readonly measured: Measurements;
  /** The disk has not answered, and there is no time left to wait for it. */
  readonly isDiskSilent: () => boolean;
}

type LedgerReason = EventOf<'save-started'>['reason'];
const REASONS: Readonly<Record<SaveReason, LedgerReason>> = { cadence: 'cadence', notice: 'flush', asked: 'advice' };

const NO_PLACE =
  'the saves hold neither random numbers nor the place in the data: a resumed run will see other batches than an uninterrupted one. Save them too, or use holdfast.torch.State';

/**
 * Records the saves of one trainer session. It measures each save, writes it to the ledger, logs
 * it, and wakes the callers that wait for the next one.
 */
export class SaveRecord implements SaveEvents {
  readonly #options: RecordOptions;
  readonly #clock: Clock;
  #begun: { readonly reason: LedgerReason; readonly atMs: number; readonly save: string; readonly worldSize: number } | null = null;
  #newest: Resume | null = null;
  #lost: LostSave | null = null;
  #hasToldMissing = false;
  /** The reason why the last save was lost; null: it was sealed. */
  #lastReason: string | null = null;
  readonly #told = new Set<string>();
  #waiting: ((outcome: SaveOutcome) => void)[] = [];

  constructor(options: RecordOptions) {
    this.#options = options;
    this.#clock = options.store.clock;
  }

  /** The newest checkpoint of this trainer session. */
  get newest(): Resume | null {
    return this.#newest;
  }

  /** The furthest save that was lost while no later one was sealed; null: none. */
  get lost(): LostSave | null {
    const { lastGoodStep } = this.#options.measured;
    return this.#lost !== null && this.#lost.step > (lastGoodStep ?? -1) ? this.#lost : null;
  }

  /** Notes that workers were restarted: the saves of earlier workers are not theirs. */
  startAgain(): void {
    this.#lost = null;
    this.#hasToldMissing = false;
  }

  /** Resolves with the next save that is sealed or lost. */
  next(): Promise<SaveOutcome> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  onDefect(thrown: unknown): void {
    this.#options.log.complain(thrown);
  }

  onBegun(save: OpenSave): void {
    const { ranks, measured, options, log } = this.#options;
    const wanted = ranks.settle();
    const reason = wanted === null ? (options.cadence.kind === 'steps' ? 'cadence' : 'request') : REASONS[wanted];
    this.#begun = { reason, atMs: this.#clock.monotonic(), save: save.save, worldSize: save.worldSize };
    const { write, seal } = measured;
    const predicted =
      write === null || seal === null ? null : { medianMs: write.medianMs + seal.medianMs, p95Ms: write.p95Ms + seal.p95Ms };
    log.record({ kind: 'save-started', save: save.save, step: save.step, reason, predicted });
    this.#tellMissing(save);
  }

  /**
   * A trainer may attach with one rank alone, which then writes everything. A trainer that meant to
   * attach all ranks must see this warning.
   */
  #tellMissing({ step, worldSize }: OpenSave): void {
    const { ranks, log } = this.#options;
    const world = ranks.all[0]?.world ?? worldSize;
    if (worldSize >= world || this.#hasToldMissing) return;
    this.#hasToldMissing = true;
    log.warn(`${worldSize} of ${world} ranks attached here: the save of step ${step} will not include the others`);
  }

  onHandedOver(): void {}

  onSealed(sealed: SealedSave, timings: SaveTimings): void {
    const { measured, log, onSafe } = this.#options;
    const { step, bytes, writeMs, stallMs, sealMs, phases } = timings;
    const now = this.#clock.monotonic();
    const begunMs = this.#begun?.atMs ?? now;
    measured.noteSealed(timings, begunMs);
    this.#lastReason = null;
    this.#noteNewest(step, sealed.path);
    this.#ended(step, 'sealed', { bytes, writeMs, stallMs, phases, problem: null });
    log.say(
      `sealed step ${step} (${formatBytes(bytes)}, written in ${formatDuration(writeMs)}, sealed in ${formatDuration(sealMs)}): ${sealed.path}`,
    );
    if (sealed.lacksPlaceInData === true) this.#tellOnce(NO_PLACE);
    this.#settle({ isSealed: true, step, begunMs });
    onSafe();
  }

  #tellOnce(text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.#options.log.warn(text);
  }

  /** The furthest step of an attempt is its last good checkpoint. */
  #noteNewest(step: number, path: string): void {
    if (this.#begun === null || step < (this.#newest?.step ?? 0)) return;
    const { save, worldSize } = this.#begun;
    this.#newest = { path, step, save, worldSize };
  }

  onLost(step: number, error: Error, outcome: 'failed' | 'abandoned'): void {
    const { ranks, onFenced, attempt } = this.#options;
    // The supervisor reports the fence in its own words, because a rank only sees that its folder
    // is gone.
    const fenced = this.#isReplaced() ? fencedError(attempt.attempt, error) : null;
    const { message } = fenced ?? error;
    ranks.settle();
    this.#tellLost(fenced ?? error);
    if (step >= (this.#lost?.step ?? 0)) this.#lost = { step, reason: message };
    this.#ended(step, outcome, { bytes: null, writeMs: null, stallMs: null, phases: null, problem: message });
    this.#settle({ isSealed: false, step, begunMs: this.#clock.monotonic() });
    if (fenced !== null) onFenced(fenced);
  }

  /**
   * The first failure is logged in full. If the same reason comes again, the log says that the run
   * cannot save.
   */
  #tellLost(error: Error): void {
    const { log } = this.#options;
    const isRepeated = error.message === this.#lastReason;
    this.#lastReason = error.message;
    if (!isRepeated) log.complain(error);
    else if (this.#newest === null)
      this.#tellOnce(`no save of this run could be sealed so far, and an interruption loses all work: ${error.message}`);
  }

  /**
   * A deleted run folder looks like one that a newer attempt has taken over; only a newer attempt
   * is a reason to end.
   */
  #isReplaced(): boolean {
    const { store, attempt, isDiskSilent } = this.#options;
    // At a deadline the supervisor does not wait for a disk that does not answer.
    if (isDiskSilent()) return false;
    try {
      return (newestAttempt(store)?.attempt ?? 0) > attempt.attempt;
    } catch {
      return false;
    }
  }

  #ended(
    step: number,
    outcome: 'sealed' | 'failed' | 'abandoned',
    facts: {
      readonly bytes: number | null;
      readonly writeMs: number | null;
      readonly stallMs: number | null;
      readonly phases: SealPhases | null;
      readonly problem: string | null;
    },
  ): void {
    const { bytes, writeMs, stallMs, problem } = facts;
    const { copyMs, checksumMs, commitMs } = facts.phases ?? { copyMs: null, checksumMs: null, commitMs: null };
    const begun = this.#begun;
    this.#begun = null;
    const totalMs = begun === null ? 0 : this.#clock.monotonic() - begun.atMs;
    const phases = { totalMs, stallMs, writeMs, copyMs, checksumMs, commitMs };
    this.#options.log.record({ kind: 'save-ended', save: begun?.save ?? '', step, outcome, bytes, ...phases, problem });
  }

  #settle(outcome: SaveOutcome): void {
    for (const resolve of this.#waiting.splice(0)) resolve(outcome);
  }
}
