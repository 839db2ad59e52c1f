import type { Attempt } from '../checkpoint/store/attempt.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import type { Clock } from '../core/clock.ts';
import type { HoldfastError } from '../core/errors.ts';
import type { Book } from './book.ts';
import { bounded } from './bounded.ts';
import type { Resume } from './find-resume.ts';
import { saveTogether } from './gang/save-together.ts';
import { Measurements } from './measurements.ts';
import type { RunOptions } from './options.ts';
import { Ranks } from './ranks.ts';
import { saveAlone } from './save-way.ts';
import { SaveDesk } from './save-desk.ts';
import { type LostSave, type SaveOutcome, SaveRecord } from './save-record.ts';
import type { SeatedListener } from './sdk/one-seat-each.ts';
import type { SaveReason } from './sdk/protocol.ts';
import type { Rank, SdkListener } from './sdk/server.ts';
import { judgeOverdue } from './sealing/overdue.ts';
import type { Sealer } from './sealing/sealer.ts';
import type { Stage } from './staging/stage.ts';
import { Welcome } from './welcome.ts';

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
/** How long workers that were started again wait for what those before them had handed over; they would wait for an answer a little longer. */
const SETTLE_MS = 20_000;
const NO_STAGE = { path: null, reason: 'saves do not go to memory first' } as const;

/**
 * One life of the trainer as far as it speaks with us: its ranks, their progress and their saves. It listens to the socket, keeps
 * the measurements and writes everything down. It decides nothing: the cadence and the ending do, through {@link ask} and {@link nextSave}.
 */
export class Life implements SeatedListener {
  readonly ranks = new Ranks();
  readonly desk: SaveDesk;
  readonly measured: Measurements;
  readonly #life: LifeOptions;
  readonly #clock: Clock;
  readonly #saves: SaveRecord;
  readonly #welcome: Welcome;
  #finishedMs: number | null = null;
  #isFirst = true;
  /** The workers that are here have told a step. */
  #haveBegun = false;
  readonly #hasFinished = Promise.withResolvers<void>();
  #leaving: (() => void)[] = [];

  constructor(life: LifeOptions) {
    const { options, store, attempt, resume, book, sealer, stage } = life;
    this.#life = life;
    this.#clock = store.clock;
    this.measured = new Measurements(this.#clock.monotonic(), resume?.step ?? null, () => book.history(attempt.attempt));
    const { ranks, measured } = this;
    this.#saves = new SaveRecord({ ...life, ranks, measured, isDiskSilent: () => this.isDiskSilent });
    this.#welcome = new Welcome({ ...life, ranks, measured });
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
      events: this.#saves,
      participants: () => this.ranks.all,
      lost: () => this.ranks.lost,
      furthest: () => this.ranks.furthest,
    });
  }

  /** Nobody has told of any work, and no saves are watched. */
  get isUnknown(): boolean {
    return this.worldSize === null && !this.measured.isWatched;
  }

  /** Resolves when the first rank speaks with us. */
  get attached(): Promise<void> {
    return this.#welcome.attached;
  }

  /** The trainer said that the run is finished. */
  get saidFinished(): boolean {
    return this.#finishedMs !== null;
  }

  /** Of the ranks that have attached last; null: none ever has. Each is taken for one accelerator. */
  get worldSize(): number | null {
    return this.#welcome.worldSize;
  }

  /** When it said so; of the monotonic clock. */
  get finishedMs(): number | null {
    return this.#finishedMs;
  }

  /** The furthest save that was lost while no later one was sealed; null: none. */
  get lostSave(): LostSave | null {
    return this.#saves.lost;
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
    return this.#saves.next();
  }

  onRank(rank: Rank): void {
    if (this.ranks.count === 0) this.#startWorkers();
    this.ranks.add(rank);
    this.#greet(rank).catch((thrown: unknown) => this.onDefect(thrown));
  }

  greetDouble(rank: Rank): void {
    this.#welcome.greetDouble(rank).catch((thrown: unknown) => this.onDefect(thrown));
  }

  async #greet(rank: Rank): Promise<void> {
    const isHere = await this.#welcome.greet(rank);
    if (isHere && this.ranks.wanted !== null) this.ask(this.ranks.wanted);
  }

  /** Nobody was here, and now somebody comes: the first workers of this life, or others that their launcher has started again. */
  #startWorkers(): void {
    this.#haveBegun = false;
    this.#saves.startAgain();
    if (this.#isFirst) {
      this.#isFirst = false;
      return;
    }
    // What those before them said and did is not theirs.
    this.#finishedMs = null;
    this.measured.startAgain(this.#clock.monotonic());
    const settled = this.desk.phase === 'sealing' ? bounded(this.nextSave(), SETTLE_MS, this.#clock) : Promise.resolve();
    this.#welcome.startAgain(settled.then(() => this.#saves.newest ?? this.#life.resume));
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
        void this.#welcome.take(rank, message);
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

  #progress(step: number, loss: number | null, now: number): void {
    this.measured.noteStep(step, now);
    const { stepMs } = this.measured;
    this.#life.book.record({ kind: 'progress', step, stepMs, loss, unsavedMs: this.measured.unsavedMs(now) });
    if (this.#haveBegun) return;
    this.#haveBegun = true;
    this.#life.onFirstStep(this);
  }
}
