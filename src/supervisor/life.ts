import { type Attempt, fencedError, newestAttempt } from '../checkpoint/store/attempt.ts';
import type { Save } from '../checkpoint/store/save.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import type { Clock } from '../core/clock.ts';
import { formatBytes } from '../core/bytes.ts';
import { formatDuration } from '../core/duration.ts';
import { type HoldfastError, toError } from '../core/errors.ts';
import type { EventOf } from '../ledger/events.ts';
import type { Book } from './book.ts';
import { bounded } from './bounded.ts';
import type { Resume } from './find-resume.ts';
import { saveTogether } from './gang/save-together.ts';
import { Measurements } from './measurements.ts';
import { OlderCheckpoints } from './older-checkpoints.ts';
import type { RunOptions } from './options.ts';
import { Ranks } from './ranks.ts';
import { saveAlone } from './save-way.ts';
import { SaveDesk, type SaveEvents, type SaveTimings } from './save-desk.ts';
import { PROTOCOL, type SaveReason } from './sdk/protocol.ts';
import type { Rank, SdkListener } from './sdk/server.ts';
import type { SealedSave, SealPhases } from './sealing/messages.ts';
import { judgeOverdue } from './sealing/overdue.ts';
import type { Sealer } from './sealing/sealer.ts';
import type { Stage } from './staging/stage.ts';

/** What became of one save. */
export interface SaveOutcome {
  readonly isSealed: boolean;
  readonly step: number;
  /** When its state was taken; of the monotonic clock. */
  readonly begunMs: number;
}

/** A save that came to nothing, and why. */
interface LostSave {
  readonly step: number;
  readonly reason: string;
}

export interface LifeOptions {
  readonly options: RunOptions;
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly resume: Resume | null;
  readonly book: Book;
  readonly sealer: Sealer;
  /** Null: every save is written where it will stay. */
  readonly stage: Stage | null;
  /** A checkpoint was sealed. */
  readonly onSafe: () => void;
  /** Workers have told their first step: the first ones of this life, or others that came in their place. */
  readonly onFirstStep: (life: Life) => void;
  /** A newer attempt has taken over: this one has to end. */
  readonly onFenced: (error: HoldfastError) => void;
  /** The connection of a rank has ended. */
  readonly onLeft: () => void;
}

type Said = Parameters<SdkListener['onMessage']>[1];
type LedgerReason = EventOf<'save-started'>['reason'];
/** How long workers that were started again wait for what those before them had handed over; they would wait for an answer a little longer. */
const SETTLE_MS = 20_000;
const NO_STAGE = { path: null, reason: 'saves do not go to memory first' } as const;
const REASONS: Readonly<Record<SaveReason, LedgerReason>> = { cadence: 'cadence', notice: 'flush', asked: 'advice' };

/**
 * One life of the trainer as far as it speaks with us: its ranks, their progress and their saves. It listens to the socket and to the desk, keeps
 * the measurements and writes everything down. It decides nothing: the cadence and the ending do, through {@link ask} and {@link nextSave}.
 */
export class Life implements SdkListener, SaveEvents {
  readonly ranks = new Ranks();
  readonly desk: SaveDesk;
  readonly measured: Measurements;
  readonly #life: LifeOptions;
  readonly #clock: Clock;
  #begun: { readonly reason: LedgerReason; readonly atMs: number; readonly save: string; readonly worldSize: number } | null = null;
  /** The newest checkpoint of this life. */
  #newest: Resume | null = null;
  #lostSave: LostSave | null = null;
  /** What the workers that are here go on from: the same for all of them, whatever is sealed while they come. */
  #from: Promise<Resume | null>;
  #finishedMs: number | null = null;
  #isFirst = true;
  #isTold = false;
  /** The workers that are here have told a step. */
  #haveBegun = false;
  readonly #attached = Promise.withResolvers<void>();
  readonly #hasFinished = Promise.withResolvers<void>();
  #worldSize: number | null = null;
  #hasToldWorld = false;
  #older: OlderCheckpoints;
  #tookStep: number | null = null;
  #hasToldMissing = false;
  #waiting: ((outcome: SaveOutcome) => void)[] = [];
  #leaving: (() => void)[] = [];

  constructor(life: LifeOptions) {
    const { options, store, attempt, resume, book, sealer, stage } = life;
    this.#life = life;
    this.#clock = store.clock;
    this.#older = new OlderCheckpoints(store);
    this.#from = Promise.resolve(resume);
    this.measured = new Measurements(this.#clock.monotonic(), resume?.step ?? null, () => book.history(attempt.attempt));
    const { retention, env } = options;
    const lastBytes = (): number | null => this.measured.lastBytes;
    const { gang } = options;
    const alone = { store, attempt, retention, env, sealer, stage, lastBytes };
    const way = gang === null ? saveAlone(alone) : saveTogether({ ...alone, gang });
    this.desk = new SaveDesk({
      store,
      way,
      sealer,
      retention: (gang?.nodeRank ?? 0) === 0 ? retention : null,
      events: this,
      participants: () => this.ranks.all,
      lost: () => this.ranks.lost,
      furthest: () => this.ranks.furthest,
    });
  }

  /** Resolves when the first rank speaks with us. */
  get attached(): Promise<void> {
    return this.#attached.promise;
  }

  /** The trainer said that the run is finished. */
  get saidFinished(): boolean {
    return this.#finishedMs !== null;
  }

  /** Of the ranks that have attached last; null: none ever has. Each is taken for one accelerator. */
  get worldSize(): number | null {
    return this.#worldSize;
  }

  /** When it said so; of the monotonic clock. */
  get finishedMs(): number | null {
    return this.#finishedMs;
  }

  /** The furthest save that was lost while no later one was sealed; null: none. */
  get lostSave(): LostSave | null {
    const { lastGoodStep } = this.measured;
    return this.#lostSave !== null && this.#lostSave.step > (lastGoodStep ?? -1) ? this.#lostSave : null;
  }

  /** Resolves when it says so for the first time. */
  get finished(): Promise<void> {
    return this.#hasFinished.promise;
  }

  /** The disk owes an answer that nobody can wait for: nothing else is asked of it that need not be. */
  get isDiskSilent(): boolean {
    return this.#life.sealer.isStuck || judgeOverdue(this, this.#clock)?.isOverdue === true;
  }

  /** Asks for a save; true when somebody is there to make it. */
  ask(why: SaveReason): boolean {
    if (this.ranks.count === 0) return false;
    this.ranks.ask(why, this.measured.quickStepMs);
    return true;
  }

  /** Resolves with the next save that is sealed or lost. */
  nextSave(): Promise<SaveOutcome> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  onRank(rank: Rank): void {
    if (this.ranks.count === 0) this.#startWorkers();
    this.ranks.add(rank);
    this.#from.then((resume) => this.#welcome(rank, resume)).catch((thrown: unknown) => this.onDefect(thrown));
  }

  /** Nobody was here, and now somebody comes: the first workers of this life, or others that their launcher has started again. */
  #startWorkers(): void {
    this.#isTold = this.#hasToldWorld = this.#hasToldMissing = this.#haveBegun = false;
    if (this.#isFirst) {
      this.#isFirst = false;
      return;
    }
    // What those before them said and did is not theirs.
    this.#finishedMs = null;
    this.#lostSave = null;
    this.#older = new OlderCheckpoints(this.#life.store);
    this.measured.startAgain(this.#clock.monotonic());
    const settled = this.desk.phase === 'sealing' ? bounded(this.nextSave(), SETTLE_MS, this.#clock) : Promise.resolve();
    this.#from = settled.then(() => this.#newest ?? this.#life.resume);
  }

  #welcome(rank: Rank, resume: Resume | null): void {
    if (!this.ranks.all.includes(rank)) return;
    this.#worldSize = rank.world;
    const { store, attempt, options, book, stage } = this.#life;
    const everySteps = options.cadence.kind === 'steps' ? options.cadence.everySteps : null;
    rank.send({
      type: 'welcome',
      protocol: PROTOCOL,
      run: store.run,
      attempt: attempt.attempt,
      resume,
      steps: rank.world > 1 ? this.#older.steps : [],
      everySteps,
      reserves: stage !== null,
    });
    book.record({ kind: 'sdk-attached', rank: rank.rank, worldSize: rank.world, python: null, framework: null });
    if (!this.#isTold)
      book.say(
        resume === null ? 'the trainer has attached; it starts fresh' : `the trainer has attached; it resumes after step ${resume.step}`,
      );
    this.#isTold = true;
    this.#attached.resolve();
    this.#tellOtherWorld(rank, resume);
    if (this.ranks.wanted !== null) this.ask(this.ranks.wanted);
  }

  /** Another number of ranks than saved it is told, when all of them are here. Whether the trainer can do with it is its own matter. */
  #tellOtherWorld({ world }: Rank, resume: Resume | null): void {
    const { options, book } = this.#life;
    const saved = resume?.worldSize ?? world;
    if (saved === world || this.#hasToldWorld || (options.gang === null && this.ranks.count < world)) return;
    this.#hasToldWorld = true;
    book.warn(`the checkpoint of step ${resume?.step} was saved by ${saved} ranks, and ${world} go on from it`);
  }

  onMessage(rank: Rank, message: Said): void {
    const now = this.#clock.monotonic();
    switch (message.type) {
      case 'step':
        this.ranks.note(rank, message.step, this.measured.quickStepMs);
        if (rank === this.ranks.all[0]) this.#progress(message.step, message.metrics['loss'] ?? null, now);
        // Its last word may have been lost on the way.
        this.#noteBusy(rank, false);
        break;
      case 'begin':
        this.#begin(rank, message);
        break;
      case 'saved':
        this.desk.handOver(rank, message.save, message);
        break;
      case 'failed':
        this.desk.fail(rank, message.save, message.reason);
        break;
      case 'reserve':
        this.#reserve(rank, message.bytes);
        break;
      case 'take':
        void this.#take(rank, message);
        break;
      case 'late':
        this.desk.late(rank, message.at);
        this.ranks.askLater(rank, message, this.measured.quickStepMs);
        break;
      case 'agrees':
        this.ranks.agrees(rank, message.withinMs, this.measured.quickStepMs);
        break;
      case 'busy':
        this.#noteBusy(rank, message.what !== null);
        break;
      case 'finish':
        this.#finish(rank);
        break;
    }
  }

  /** As long as one of them is busy, the others may wait for it. */
  #noteBusy(rank: Rank, isBusy: boolean): void {
    if (this.ranks.noteBusy(rank, isBusy)) this.measured.noteBusy(this.ranks.areBusy, this.#clock.monotonic());
  }

  /** A rank waits for the answer: it gets one whatever happens here. */
  #begin(rank: Rank, { step, linked }: { readonly step: number; readonly linked: boolean }): void {
    try {
      this.#life.stage?.links(rank, linked);
      this.desk.begin(rank, step);
    } catch (thrown) {
      rank.send({ type: 'refused', step, code: 'INTERNAL', reason: 'the supervisor failed to begin it' });
      throw thrown;
    }
  }

  /** The ranks of all nodes can only go on from a step that each of them holds. */
  async #take(rank: Rank, { step, agreed }: { readonly step: number; readonly agreed: boolean }): Promise<void> {
    const { book, resume, attempt } = this.#life;
    const looked = agreed ? this.#older.goBack(step, attempt.attempt) : this.#older.take(step);
    const taken = await looked.catch((thrown: unknown) => toError(thrown).message);
    const isRefused = typeof taken === 'string';
    rank.send({ type: 'taken', step, resume: isRefused ? null : taken, reason: isRefused ? taken : null });
    if (isRefused) book.warn(`step ${step}, which other nodes hold too, was not taken: ${taken}`);
    if (isRefused || !agreed || this.#tookStep === step) return;
    this.#tookStep = step;
    this.measured.noteTaken(step);
    if (resume?.step !== step)
      book.warn(`not all nodes hold step ${resume?.step}: all ranks go on from step ${step}, and what is newer here counts no more`);
  }

  /** Memory that a rank keeps from save to save. */
  #reserve(rank: Rank, bytes: number): void {
    rank.send({ type: 'reserved', ...(this.#life.stage?.keep(rank, bytes) ?? NO_STAGE) });
  }

  /** All ranks end together; the first speaks for all. */
  #finish(rank: Rank): void {
    if (rank.rank === (this.ranks.all[0]?.rank ?? rank.rank)) {
      this.#finishedMs = this.#clock.monotonic();
      this.#hasFinished.resolve();
    }
    rank.send({ type: 'bye' });
  }

  onGone(rank: Rank): void {
    this.#life.onLeft();
    this.#noteBusy(rank, false);
    this.ranks.remove(rank);
    this.desk.gone(rank);
    this.#life.stage?.release(rank);
    if (this.ranks.count === 0) for (const resolve of this.#leaving.splice(0)) resolve();
  }

  /** Resolves when no rank is connected any more: everything that they had said is heard. */
  drained(): Promise<void> {
    if (this.ranks.count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#leaving.push(resolve));
  }

  onComplaint(text: string): void {
    this.#life.book.warn(text);
  }

  onDefect(thrown: unknown): void {
    this.#life.book.complain(thrown);
  }

  onBegun(save: Save): void {
    const wanted = this.ranks.settle();
    const reason = wanted === null ? (this.#life.options.cadence.kind === 'steps' ? 'cadence' : 'request') : REASONS[wanted];
    this.#begun = { reason, atMs: this.#clock.monotonic(), save: save.save, worldSize: save.worldSize };
    const { write, seal } = this.measured;
    const predicted =
      write === null || seal === null ? null : { medianMs: write.medianMs + seal.medianMs, p95Ms: write.p95Ms + seal.p95Ms };
    this.#life.book.record({ kind: 'save-started', save: save.save, step: save.step, reason, predicted });
    this.#tellMissing(save);
  }

  /** A trainer may attach in some ranks alone, which then write everything; one that means to attach in all of them must hear that it has not. */
  #tellMissing({ step, worldSize }: Save): void {
    const world = this.ranks.all[0]?.world ?? worldSize;
    if (worldSize >= world || this.#hasToldMissing) return;
    this.#hasToldMissing = true;
    this.#life.book.warn(`${worldSize} of ${world} ranks attached here: step ${step} will hold nothing of the others`);
  }

  onHandedOver(): void {}

  onSealed(sealed: SealedSave, timings: SaveTimings): void {
    const { step, bytes, writeMs, stallMs, sealMs, phases } = timings;
    const now = this.#clock.monotonic();
    const begunMs = this.#begun?.atMs ?? now;
    this.measured.noteSealed(timings, begunMs);
    this.#noteNewest(step, sealed.path);
    this.#ended(step, 'sealed', { bytes, writeMs, stallMs, phases, problem: null });
    this.#life.book.say(
      `sealed step ${step} (${formatBytes(bytes)}, written in ${formatDuration(writeMs)}, sealed in ${formatDuration(sealMs)}): ${sealed.path}`,
    );
    this.#settle({ isSealed: true, step, begunMs });
    this.#life.onSafe();
  }

  /** Of several in one attempt the last good one is that of the furthest step. */
  #noteNewest(step: number, path: string): void {
    if (this.#begun === null || step < (this.#newest?.step ?? 0)) return;
    const { save, worldSize } = this.#begun;
    this.#newest = { path, step, save, worldSize };
  }

  onLost(step: number, error: Error, outcome: 'failed' | 'abandoned'): void {
    const { book, onFenced, attempt } = this.#life;
    // Whoever meets the fence first tells it in its own words: a rank only sees that its folder is gone.
    const fenced = this.#isReplaced() ? fencedError(attempt.attempt, error) : null;
    const { message } = fenced ?? error;
    this.ranks.settle();
    book.complain(fenced ?? error);
    if (step >= (this.#lostSave?.step ?? 0)) this.#lostSave = { step, reason: message };
    this.#ended(step, outcome, { bytes: null, writeMs: null, stallMs: null, phases: null, problem: message });
    this.#settle({ isSealed: false, step, begunMs: this.#clock.monotonic() });
    if (fenced !== null) onFenced(fenced);
  }

  /** A run's folder that is gone looks like one that was taken over; only a newer attempt is a reason to end. */
  #isReplaced(): boolean {
    const { store, attempt } = this.#life;
    // At a deadline nobody waits for a disk that does not answer.
    if (this.isDiskSilent) return false;
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
    this.#life.book.record({ kind: 'save-ended', save: begun?.save ?? '', step, outcome, bytes, ...phases, problem });
  }

  #settle(outcome: SaveOutcome): void {
    for (const resolve of this.#waiting.splice(0)) resolve(outcome);
  }

  #progress(step: number, loss: number | null, now: number): void {
    this.measured.noteStep(step, now);
    const { stepMs } = this.measured;
    this.#life.book.record({ kind: 'progress', step, stepMs, loss, unsavedMs: this.measured.unsavedMs(now) });
    if (this.#haveBegun) return;
    this.#haveBegun = true;
    this.#life.onFirstStep(this);
  }
}
