import { fencedError, newestAttempt } from '../checkpoint/store/attempt.ts';
import type { Save } from '../checkpoint/store/save.ts';
import type { Clock } from '../core/clock.ts';
import { formatBytes } from '../core/bytes.ts';
import { formatDuration } from '../core/duration.ts';
import type { EventOf } from '../ledger/events.ts';
import type { Resume } from './find-resume.ts';
import type { LifeOptions } from './life.ts';
import type { Measurements } from './measurements.ts';
import type { Ranks } from './ranks.ts';
import type { SaveEvents } from './save-desk.ts';
import type { SaveTimings } from './save-timings.ts';
import type { SaveReason } from './sdk/protocol.ts';
import type { SealedSave, SealPhases } from './sealing/messages.ts';

/** What became of one save. */
export interface SaveOutcome {
  readonly isSealed: boolean;
  readonly step: number;
  /** When its state was taken; of the monotonic clock. */
  readonly begunMs: number;
}

/** A save that came to nothing, and why. */
export interface LostSave {
  readonly step: number;
  readonly reason: string;
}

interface RecordOptions extends Pick<LifeOptions, 'options' | 'store' | 'attempt' | 'book' | 'onSafe' | 'onFenced'> {
  readonly ranks: Ranks;
  readonly measured: Measurements;
  /** The disk owes an answer that nobody can wait for. */
  readonly isDiskSilent: () => boolean;
}

type LedgerReason = EventOf<'save-started'>['reason'];
const REASONS: Readonly<Record<SaveReason, LedgerReason>> = { cadence: 'cadence', notice: 'flush', asked: 'advice' };

/** What is known of the saves of one life: each is measured, written down and told as it goes, and whoever waits for the next one is woken. */
export class SaveRecord implements SaveEvents {
  readonly #options: RecordOptions;
  readonly #clock: Clock;
  #begun: { readonly reason: LedgerReason; readonly atMs: number; readonly save: string; readonly worldSize: number } | null = null;
  #newest: Resume | null = null;
  #lost: LostSave | null = null;
  #hasToldMissing = false;
  #waiting: ((outcome: SaveOutcome) => void)[] = [];

  constructor(options: RecordOptions) {
    this.#options = options;
    this.#clock = options.store.clock;
  }

  /** The newest checkpoint of this life. */
  get newest(): Resume | null {
    return this.#newest;
  }

  /** The furthest save that was lost while no later one was sealed; null: none. */
  get lost(): LostSave | null {
    const { lastGoodStep } = this.#options.measured;
    return this.#lost !== null && this.#lost.step > (lastGoodStep ?? -1) ? this.#lost : null;
  }

  /** Other workers have come: what those before them did is not theirs. */
  startAgain(): void {
    this.#lost = null;
    this.#hasToldMissing = false;
  }

  /** Resolves with the next save that is sealed or lost. */
  next(): Promise<SaveOutcome> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  onDefect(thrown: unknown): void {
    this.#options.book.complain(thrown);
  }

  onBegun(save: Save): void {
    const { ranks, measured, options, book } = this.#options;
    const wanted = ranks.settle();
    const reason = wanted === null ? (options.cadence.kind === 'steps' ? 'cadence' : 'request') : REASONS[wanted];
    this.#begun = { reason, atMs: this.#clock.monotonic(), save: save.save, worldSize: save.worldSize };
    const { write, seal } = measured;
    const predicted =
      write === null || seal === null ? null : { medianMs: write.medianMs + seal.medianMs, p95Ms: write.p95Ms + seal.p95Ms };
    book.record({ kind: 'save-started', save: save.save, step: save.step, reason, predicted });
    this.#tellMissing(save);
  }

  /** A trainer may attach in some ranks alone, which then write everything; one that means to attach in all of them must hear that it has not. */
  #tellMissing({ step, worldSize }: Save): void {
    const { ranks, book } = this.#options;
    const world = ranks.all[0]?.world ?? worldSize;
    if (worldSize >= world || this.#hasToldMissing) return;
    this.#hasToldMissing = true;
    book.warn(`${worldSize} of ${world} ranks attached here: step ${step} will hold nothing of the others`);
  }

  onHandedOver(): void {}

  onSealed(sealed: SealedSave, timings: SaveTimings): void {
    const { measured, book, onSafe } = this.#options;
    const { step, bytes, writeMs, stallMs, sealMs, phases } = timings;
    const now = this.#clock.monotonic();
    const begunMs = this.#begun?.atMs ?? now;
    measured.noteSealed(timings, begunMs);
    this.#noteNewest(step, sealed.path);
    this.#ended(step, 'sealed', { bytes, writeMs, stallMs, phases, problem: null });
    book.say(
      `sealed step ${step} (${formatBytes(bytes)}, written in ${formatDuration(writeMs)}, sealed in ${formatDuration(sealMs)}): ${sealed.path}`,
    );
    this.#settle({ isSealed: true, step, begunMs });
    onSafe();
  }

  /** Of several in one attempt the last good one is that of the furthest step. */
  #noteNewest(step: number, path: string): void {
    if (this.#begun === null || step < (this.#newest?.step ?? 0)) return;
    const { save, worldSize } = this.#begun;
    this.#newest = { path, step, save, worldSize };
  }

  onLost(step: number, error: Error, outcome: 'failed' | 'abandoned'): void {
    const { ranks, book, onFenced, attempt } = this.#options;
    // Whoever meets the fence first tells it in its own words: a rank only sees that its folder is gone.
    const fenced = this.#isReplaced() ? fencedError(attempt.attempt, error) : null;
    const { message } = fenced ?? error;
    ranks.settle();
    book.complain(fenced ?? error);
    if (step >= (this.#lost?.step ?? 0)) this.#lost = { step, reason: message };
    this.#ended(step, outcome, { bytes: null, writeMs: null, stallMs: null, phases: null, problem: message });
    this.#settle({ isSealed: false, step, begunMs: this.#clock.monotonic() });
    if (fenced !== null) onFenced(fenced);
  }

  /** A run's folder that is gone looks like one that was taken over; only a newer attempt is a reason to end. */
  #isReplaced(): boolean {
    const { store, attempt, isDiskSilent } = this.#options;
    // At a deadline nobody waits for a disk that does not answer.
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
    this.#options.book.record({ kind: 'save-ended', save: begun?.save ?? '', step, outcome, bytes, ...phases, problem });
  }

  #settle(outcome: SaveOutcome): void {
    for (const resolve of this.#waiting.splice(0)) resolve(outcome);
  }
}
