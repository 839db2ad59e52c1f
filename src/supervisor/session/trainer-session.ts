import type { Clock } from '../../core/clock.ts';
import { bounded } from '../../core/bounded.ts';
import { saveTogether } from '../saves/together.ts';
import { Measurements } from './measurements.ts';
import { Ranks } from './ranks.ts';
import { saveAlone } from '../saves/alone.ts';
import { SaveCoordinator } from '../saves/save-coordinator.ts';
import { type LostSave, type SaveOutcome, SaveRecord } from './save-record.ts';
import type { ArbiterListener } from '../sdk/rank-arbiter.ts';
import type { SaveReason } from '../sdk/protocol.ts';
import type { Rank, SdkListener } from '../sdk/sdk-server.ts';
import { judgeOverdue } from './judge-overdue.ts';
import { Handshake } from './handshake.ts';
import type { SessionOptions } from './session-options.ts';
import { StepCounters } from './step-counters.ts';

type Said = Parameters<SdkListener['onMessage']>[1];
/**
 * How long restarted workers wait for the save that earlier workers handed over. They would wait
 * for an answer a little longer.
 */
const SETTLE_MS = 20_000;
const NO_STAGE = { path: null, reason: 'saves do not go to memory first' } as const;

/**
 * The trainer session of one attempt: its ranks, their progress and their saves. It listens to the
 * socket, keeps the measurements and writes the ledger. It decides nothing; the cadence and the
 * ending do, through {@link ask} and {@link nextSave}.
 */
export class TrainerSession implements ArbiterListener {
  readonly ranks = new Ranks();
  readonly coordinator: SaveCoordinator;
  readonly measured: Measurements;
  readonly #session: SessionOptions;
  readonly #clock: Clock;
  readonly #saves: SaveRecord;
  readonly #welcome: Handshake;
  readonly #counters: StepCounters;
  /** The newest step comes from the trainer's own counter, and not only from its reports. */
  #isCounted = false;
  /** The last loss that the first rank reported: not every report of a step has one. */
  #loss: number | null = null;
  #finishedMs: number | null = null;
  #isFirst = true;
  /** The connected workers have reported a step. */
  #haveBegun = false;
  readonly #hasFinished = Promise.withResolvers<void>();
  #leaving: (() => void)[] = [];

  constructor(session: SessionOptions) {
    const { options, store, attempt, resume, log, sealer, stage } = session;
    this.#session = session;
    this.#clock = store.clock;
    this.measured = new Measurements(this.#clock.monotonic(), resume?.step ?? null, () => log.history(attempt.attempt));
    const { ranks, measured } = this;
    this.#saves = new SaveRecord({ ...session, ranks, measured, isDiskSilent: () => this.isDiskSilent });
    this.#counters = new StepCounters(session.counters);
    this.#welcome = new Handshake({ ...session, ranks, measured, counters: this.#counters });
    const { retention, env } = options;
    const lastBytes = (): number | null => this.measured.lastBytes;
    const { gang } = options;
    const alone = { store, attempt, retention, env, sealer, stage, lastBytes };
    const strategy = gang === null ? saveAlone(alone) : saveTogether({ ...alone, gang });
    this.coordinator = new SaveCoordinator({
      store,
      strategy,
      sealer,
      retention: (gang?.nodeRank ?? 0) === 0 ? retention : null,
      events: this.#saves,
      participants: () => this.ranks.all,
      lost: () => this.ranks.lost,
      furthest: () => this.ranks.furthest,
    });
  }

  /** True when no rank has reported work and no saves are watched. */
  get isUnknown(): boolean {
    return this.worldSize === null && !this.measured.isWatched;
  }

  /** Resolves when the first rank has attached. */
  get attached(): Promise<void> {
    return this.#welcome.attached;
  }

  /** Whether a requested save can be sealed: ranks on several nodes must agree on its step. */
  get savesOnRequest(): boolean {
    return this.#session.options.gang === null || this.ranks.canAgree;
  }

  /** The trainer reported that the run is finished. */
  get saidFinished(): boolean {
    return this.#finishedMs !== null;
  }

  /**
   * The world size of the ranks that attached last; null: no rank has attached. Each rank counts as
   * one accelerator.
   */
  get worldSize(): number | null {
    return this.#welcome.worldSize;
  }

  /** When the trainer reported that the run is finished; monotonic. */
  get finishedMs(): number | null {
    return this.#finishedMs;
  }

  /** The furthest save that was lost while no later one was sealed; null: none. */
  get lostSave(): LostSave | null {
    return this.#saves.lost;
  }

  /** Resolves when the trainer first reports that the run is finished. */
  get finished(): Promise<void> {
    return this.#hasFinished.promise;
  }

  /**
   * The disk has not answered and there is no time left to wait for it. Ask it for nothing that is
   * not necessary.
   */
  get isDiskSilent(): boolean {
    return this.#session.sealer.isStuck || judgeOverdue(this, this.#clock)?.isOverdue === true;
  }

  /** Asks for a save; true when a rank is attached to make it. */
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

  /**
   * Starts a set of workers when the first of them attaches: the first set of the attempt, or one
   * that the launcher has restarted.
   */
  #startWorkers(): void {
    this.#haveBegun = this.#isCounted = false;
    this.#saves.startAgain();
    if (this.#isFirst) {
      this.#isFirst = false;
      return;
    }
    // The reports of earlier workers do not apply to these.
    this.#finishedMs = null;
    this.measured.startAgain(this.#clock.monotonic());
    const settled = this.coordinator.phase === 'sealing' ? bounded(this.nextSave(), SETTLE_MS, this.#clock) : Promise.resolve();
    this.#welcome.startAgain(settled.then(() => this.#saves.newest ?? this.#session.resume));
  }

  onMessage(rank: Rank, message: Said): void {
    const now = this.#clock.monotonic();
    switch (message.type) {
      case 'step':
        this.ranks.note(rank, message.step, this.measured.quickStepMs);
        if (rank === this.ranks.all[0]) this.#progress(message.step, message.metrics['loss'] ?? null, now);
        // The rank's last message about being busy may have been lost.
        this.#noteBusy(rank, false);
        break;
      case 'begin':
        this.#begin(rank, message);
        break;
      case 'saved':
        this.coordinator.handOver(rank, message.save, message);
        break;
      case 'failed':
        this.coordinator.fail(rank, message.save, message.reason);
        break;
      case 'reserve':
        this.#reserve(rank, message.bytes);
        break;
      case 'take':
        void this.#welcome.take(rank, message);
        break;
      case 'late':
        this.coordinator.late(rank, message.at);
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

  /** While one rank is busy, the others may wait for it. */
  #noteBusy(rank: Rank, isBusy: boolean): void {
    if (this.ranks.noteBusy(rank, isBusy)) this.measured.noteBusy(this.ranks.areBusy, this.#clock.monotonic());
  }

  /** Answers a rank that waits to save, even when an error is thrown here. */
  #begin(rank: Rank, { step, linked }: { readonly step: number; readonly linked: boolean }): void {
    try {
      this.#session.stage?.links(rank, linked);
      this.coordinator.begin(rank, step);
    } catch (thrown) {
      rank.send({ type: 'refused', step, code: 'INTERNAL', reason: 'the supervisor failed to start it' });
      throw thrown;
    }
  }

  /** Reserves memory that a rank keeps from save to save. */
  #reserve(rank: Rank, bytes: number): void {
    rank.send({ type: 'reserved', ...(this.#session.stage?.keep(rank, bytes) ?? NO_STAGE) });
  }

  /** Notes that the run is finished. All ranks end together, so the first rank speaks for all. */
  #finish(rank: Rank): void {
    if (rank.rank === (this.ranks.all[0]?.rank ?? rank.rank)) {
      this.#finishedMs = this.#clock.monotonic();
      this.#hasFinished.resolve();
    }
    rank.send({ type: 'bye' });
  }

  /**
   * Takes the newest step from the trainer's own counter. Reports come a few times a second, and
   * the last of them is lost when the trainer is killed. Returns true when the step is now exact.
   */
  catchUp(): boolean {
    const [first] = this.ranks.all;
    if (first !== undefined) this.#readCounter(first);
    return this.#isCounted || this.saidFinished;
  }

  #readCounter(rank: Rank): void {
    const { measured } = this;
    const counted = this.#counters.read(rank);
    if (counted === null || counted < (measured.step ?? 0)) return;
    this.#isCounted = true;
    if (counted === measured.step) return;
    const now = this.#clock.monotonic();
    measured.noteStep(counted, now);
    this.#session.log.record({
      kind: 'progress',
      step: counted,
      stepMs: measured.stepMs,
      loss: this.#loss,
      unsavedMs: measured.unsavedMs(now),
    });
  }

  onGone(rank: Rank): void {
    if (rank === this.ranks.all[0]) this.#readCounter(rank);
    this.#counters.close(rank);
    this.#session.onLeft();
    this.#noteBusy(rank, false);
    this.ranks.remove(rank);
    this.coordinator.gone(rank);
    this.#session.stage?.release(rank);
    if (this.ranks.count === 0) for (const resolve of this.#leaving.splice(0)) resolve();
  }

  /** Resolves when no rank is connected and all their messages are handled. */
  drained(): Promise<void> {
    if (this.ranks.count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#leaving.push(resolve));
  }

  onComplaint(text: string): void {
    this.#session.log.warn(text);
  }

  onDefect(thrown: unknown): void {
    this.#session.log.complain(thrown);
  }

  #progress(step: number, loss: number | null, now: number): void {
    this.measured.noteStep(step, now);
    const { stepMs } = this.measured;
    this.#loss = loss ?? this.#loss;
    this.#session.log.record({ kind: 'progress', step, stepMs, loss: this.#loss, unsavedMs: this.measured.unsavedMs(now) });
    if (this.#haveBegun) return;
    this.#haveBegun = true;
    this.#session.onFirstStep(this);
  }
}
