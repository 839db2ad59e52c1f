import type { Retention } from '../../store/retention/retention.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import {
  type SaveProgress,
  type SaveState,
  type SaveWaiting,
  type Gathering,
  IDLE,
  progressOf,
  type SealedBytes,
  waitingOf,
} from './save-state.ts';
import { type OwnTimes, type SaveTimings, UNTOLD, UNWRITTEN, withRank, type Written } from './save-timings.ts';
import type { OpenSave, SaveStrategy } from './open-save.ts';
import type { Rank } from '../sdk/sdk-server.ts';
import type { SealedSave } from './sealing/seal-messages.ts';
import type { Sealer } from './sealing/sealer.ts';

/** Callbacks that report a save as it happens. */
export interface SaveEvents {
  onBegun(save: OpenSave): void;
  onHandedOver(save: OpenSave, writeMs: number): void;
  onSealed(sealed: SealedSave, timings: SaveTimings): void;
  /**
   * The save failed or was abandoned; every earlier checkpoint is as it was. `step` is the step of
   * that save.
   */
  onLost(step: number, error: Error, outcome: 'failed' | 'abandoned'): void;
  /** An error outside the saves themselves. */
  onDefect(thrown: unknown): void;
}

/** What the coordinator works with. */
export interface CoordinatorOptions {
  readonly store: OpenStore;
  readonly strategy: SaveStrategy;
  readonly sealer: Sealer;
  /** Which older checkpoints to delete after each save; null: none. */
  readonly retention: Retention | null;
  readonly events: SaveEvents;
  /** The ranks that take part in a save that begins now. */
  readonly participants: () => readonly Rank[];
  /** The numbers of ranks that left while others stay connected. */
  readonly lost: () => readonly number[];
  /** The furthest step that a rank is known to have made; null: no rank has made one. */
  readonly furthest: () => number | null;
}

/** How long ranks wait for each other at the step that all of them save. */
const GATHER_MS = 60_000;

/** A rank that waits for the answer to this step. */
interface Begun {
  readonly rank: Rank;
  readonly step: number;
}

/**
 * Coordinates the saves of all ranks, one save at a time.
 *
 * Idle: no save is in progress. The first rank that begins one moves it to gathering.
 *
 * Gathering: it waits for the other ranks to begin the same step; a single rank passes at once.
 * When all have begun, it makes room for the save or refuses it. With room, each rank gets the
 * folder, and it moves to writing.
 *
 * Writing: the ranks write. It moves to sealing when the last rank has handed over. If a rank fails
 * or disconnects before, the save is abandoned.
 *
 * Sealing: a thread takes checksums and syncs the bytes while the ranks train on. A rank that
 * begins a save meanwhile waits; saves do not pile up.
 *
 * Tidying: the save is sealed, and memory and older checkpoints are being freed. A rank that begins
 * a save waits a moment longer.
 *
 * When the disk does not answer for far too long, ranks that wait or begin are refused ({@link
 * refuseMeanwhile}), until it does.
 *
 * Nothing here ever throws at a caller: a failed save is reported, and training continues.
 */
export class SaveCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #stop = new AbortController();
  #state: SaveState = IDLE;
  #sealed: SealedBytes = { done: 0, total: 0, movedMs: 0 };
  /**
   * Why ranks may not wait for the save that is being sealed or tidied up after; null while they
   * may.
   */
  #overdue: string | null = null;
  #waiting: Begun[] = [];
  #settled: (() => void)[] = [];
  /** The step that was announced to other nodes; null: none. */
  #expected: number | null = null;
  /** Why no save may begin any more; null while one may. */
  #closed: string | null = null;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
  }

  get phase(): SaveState['kind'] {
    return this.#state.kind;
  }

  /** The step of the save in progress, from its folder to its seal; null when there is none. */
  get step(): number | null {
    return this.#state.kind === 'writing' || this.#state.kind === 'sealing' ? this.#state.save.step : null;
  }

  /** The progress of the current save; null when there is none. */
  get progress(): SaveProgress | null {
    return progressOf(this.#state, this.#sealed);
  }

  /** The save that waits for the disk; null: there is none. */
  get waiting(): SaveWaiting | null {
    return waitingOf(this.#state, this.#sealed);
  }

  /** True while a rank waits here and cannot train. */
  get isHolding(): boolean {
    return this.#state.kind === 'gathering' || this.#state.kind === 'writing' || this.#waiting.length > 0;
  }

  begin(rank: Rank, step: number): void {
    const state = this.#state;
    if (this.#closed !== null) refuse({ rank, step }, 'SAVE_INCOMPLETE', this.#closed);
    else if (state.kind === 'idle') this.#gather(rank, step);
    else if (this.#overdue !== null) refuse({ rank, step }, 'SEAL_OVERDUE', this.#overdue);
    else if (state.kind !== 'gathering') this.#wait(rank, step);
    else if (state.step === step) this.#arrive(state, rank);
    else refuse({ rank, step }, 'SAVE_MIXED', `the other ranks save step ${state.step}, not ${step}`);
  }

  handOver(rank: Rank, id: string, own: OwnTimes): void {
    const state = this.#state;
    if (state.kind !== 'writing' || state.save.save !== id || !state.missing.delete(rank)) return;
    const written = withRank(state.written, this.#now() - state.sinceMs, own);
    if (state.missing.size > 0) return this.#enter({ ...state, written });
    this.#options.events.onHandedOver(state.save, written.writeMs);
    this.#sealed = { ...this.#sealed, done: 0, total: 0 };
    this.#enter({ kind: 'sealing', save: state.save, sinceMs: this.#now() });
    void this.#seal(state.save, state.all, written);
  }

  fail(rank: Rank, id: string, reason: string): void {
    const state = this.#state;
    if (state.kind === 'writing' && state.save.save === id) this.#giveUp(`rank ${rank.rank} could not write it: ${reason}`);
  }

  /**
   * Ends the gathering for a step that a rank has passed, because that step can no longer be saved.
   * Nothing is lost: the ranks are asked for a later step.
   */
  late(rank: Rank, step: number): void {
    const state = this.#state;
    if (state.kind !== 'gathering' || state.step !== step || state.given.signal.aborted) return;
    state.given.abort();
    for (const one of state.here) refuse({ rank: one, step }, 'SAVE_INCOMPLETE', `rank ${rank.rank} was past step ${step} already`);
    this.#enter(IDLE);
  }

  gone(rank: Rank): void {
    this.#waiting = this.#waiting.filter((one) => one.rank !== rank);
    const state = this.#state;
    // The rank's last message may be lost, but its mark is on the disk.
    if (state.kind === 'writing' && state.missing.has(rank) && state.save.hasHandedOver(rank.rank))
      return this.handOver(rank, state.save.save, UNTOLD);
    const isNeeded = state.kind === 'gathering' ? state.all.includes(rank) : state.kind === 'writing' && state.missing.has(rank);
    if (isNeeded) this.#giveUp(`rank ${rank.rank} disconnected before it wrote its part`);
  }

  /**
   * Resolves when no save is in progress; a save that was handed over is sealed or lost by then.
   */
  idle(): Promise<void> {
    if (this.#state.kind === 'idle') return Promise.resolve();
    return new Promise((resolve) => this.#settled.push(resolve));
  }

  /**
   * Refuses saves until the disk answers again, so that the ranks train on instead of waiting for
   * it.
   */
  refuseMeanwhile(reason: string): void {
    if (this.waiting === null) return;
    this.#overdue = reason;
    for (const one of this.#waiting.splice(0)) refuse(one, 'SEAL_OVERDUE', reason);
  }

  /** Lets no save begin any more; a save that was handed over is still sealed. */
  close(reason: string): void {
    this.#closed ??= reason;
    for (const one of this.#waiting.splice(0)) refuse(one, 'SAVE_INCOMPLETE', reason);
  }

  /** Abandons every save that is not sealed yet, for good. */
  abandon(reason: string): void {
    this.#stop.abort(new HoldfastError('SAVE_INCOMPLETE', { message: reason }));
    this.close(reason);
    if (this.#state.kind === 'gathering' || this.#state.kind === 'writing') this.#giveUp(reason);
  }

  /**
   * A rank waits for one answer at a time. A rank that begins another save will never write the
   * open one.
   */
  #wait(rank: Rank, step: number): void {
    if (this.#state.kind === 'writing' && this.#state.missing.has(rank)) {
      this.#giveUp(`rank ${rank.rank} has begun step ${step} without having written step ${this.#state.save.step}`);
      return this.begin(rank, step);
    }
    if (this.#waiting.some((one) => one.rank === rank)) refuse({ rank, step }, 'SAVE_MIXED', `rank ${rank.rank} has already begun a save`);
    else {
      this.#waiting.push({ rank, step });
      this.#expect(step);
    }
  }

  /** Announces the save to the other nodes, until it is opened or no rank waits for it. */
  #expect(step: number): void {
    const { strategy, events } = this.#options;
    if (strategy.expect === undefined || this.#expected === step) return;
    this.#expected = step;
    const isAwaited = (): boolean =>
      (this.#state.kind === 'gathering' && this.#state.step === step) || this.#waiting.some((one) => one.step === step);
    const { signal } = this.#stop;
    strategy
      .expect(step, { isAwaited, signal })
      .catch((thrown: unknown) => {
        if (!signal.aborted) events.onDefect(thrown);
      })
      .finally(() => {
        if (this.#expected === step) this.#expected = null;
      });
  }

  #gather(rank: Rank, step: number): void {
    const lost = this.#options.lost();
    if (lost.length > 0) return this.#refuseWithout(lost, rank, step);
    const others = this.#options.participants().filter((one) => one !== rank);
    // The missing ranks would never come; they may wait for this rank at a later step.
    if (others.length > 0 && (this.#options.furthest() ?? step) > step)
      return refuse({ rank, step }, 'SAVE_INCOMPLETE', `other ranks are past step ${step} already`);
    const state: Gathering = { kind: 'gathering', step, here: new Set(), all: [rank, ...others], given: new AbortController() };
    this.#enter(state);
    this.#expect(step);
    this.#arrive(state, rank);
    if (this.#state === state && others.length > 0) void this.#boundGathering(state);
  }

  /** The remaining ranks would write only a part, which would be sealed as if it were whole. */
  #refuseWithout(lost: readonly number[], rank: Rank, step: number): void {
    const message = `rank ${lost.join(', ')} is gone, and without it step ${step} would not be whole`;
    refuse({ rank, step }, 'SAVE_INCOMPLETE', message);
    const error = new HoldfastError('SAVE_INCOMPLETE', { message, hint: 'Earlier checkpoints are unchanged.' });
    this.#options.events.onLost(step, error, 'failed');
  }

  async #boundGathering(state: Gathering): Promise<void> {
    try {
      await this.#options.store.clock.sleep(GATHER_MS, { signal: state.given.signal });
    } catch {
      return;
    }
    const missing = state.all.filter((rank) => !state.here.has(rank)).map(({ rank }) => rank);
    if (this.#state === state) this.#giveUp(`rank ${missing.join(', ')} did not reach step ${state.step} in time`);
  }

  #arrive(state: Gathering, rank: Rank): void {
    // A rank that connected after the first one began takes part too.
    if (!state.all.includes(rank)) state.all.push(rank);
    state.here.add(rank);
    if (state.given.signal.aborted || !state.all.every((one) => state.here.has(one))) return;
    state.given.abort();
    void this.#open(state);
  }

  async #open(state: Gathering): Promise<void> {
    const { strategy, events } = this.#options;
    const { step, all } = state;
    try {
      const save = await strategy.open(step, all, this.#stop.signal);
      if (this.#state !== state) return void save.discard();
      this.#enter({ kind: 'writing', save, missing: new Set(all), all, sinceMs: this.#now(), written: UNWRITTEN });
      events.onBegun(save);
      for (const rank of all) rank.send({ type: 'folder', step, save: save.save, ...save.placeOf(rank.rank) });
    } catch (thrown) {
      if (this.#state === state) this.#drop(state, toError(thrown));
    }
  }

  #giveUp(reason: string): void {
    const state = this.#state;
    const hint = 'Earlier checkpoints are unchanged.';
    if (state.kind === 'gathering' || state.kind === 'writing')
      this.#drop(state, new HoldfastError('SAVE_INCOMPLETE', { message: reason, hint }));
  }

  #drop(state: SaveState & { readonly kind: 'gathering' | 'writing' }, error: Error): void {
    const { events } = this.#options;
    if (state.kind === 'gathering') {
      state.given.abort();
      for (const rank of state.here) refuse({ rank, step: state.step }, codeOf(error), error.message);
      events.onLost(state.step, error, this.#howLost);
    } else {
      for (const rank of state.all) rank.send({ type: 'lost', save: state.save.save, reason: error.message });
      events.onLost(state.save.step, error, this.#howLost);
      void state.save.discard();
    }
    this.#enter(IDLE);
  }

  async #seal(save: OpenSave, all: readonly Rank[], written: Written): Promise<void> {
    const { events } = this.#options;
    const { signal } = this.#stop;
    const startedMs = this.#now();
    try {
      const onBytes = (done: number, total: number): void => {
        this.#sealed = { done, total, movedMs: this.#now() };
      };
      const sealed = await save.seal(all, { writeMs: written.writeMs, signal, onBytes });
      const { path, bytes, phases } = sealed;
      // The disk has answered: ranks that begin now wait only for the tidying, which is short.
      this.#overdue = null;
      this.#enter({ kind: 'tidying', save, sinceMs: this.#now() });
      for (const rank of all) rank.send({ type: 'sealed', save: save.save, step: save.step, path });
      events.onSealed(sealed, { step: save.step, bytes, ...written, sealMs: this.#now() - startedMs, phases });
      await save.free();
      await this.#prune();
    } catch (thrown) {
      const error = toError(thrown);
      // The seal thread removes an abandoned save when its disk allows it; otherwise the next
      // attempt does. Nothing here waits for a disk at a deadline. Bytes that stay in memory are
      // found by the next attempt on this node.
      if (!signal.aborted) await save.discard();
      for (const rank of all) rank.send({ type: 'lost', save: save.save, reason: error.message });
      events.onLost(save.step, error, this.#howLost);
    } finally {
      this.#enter(IDLE);
    }
  }

  /** Deletes old checkpoints after each save. A failure is reported, and the save stays sealed. */
  async #prune(): Promise<void> {
    const { sealer, retention, events } = this.#options;
    const { signal } = this.#stop;
    if (retention === null || signal.aborted) return;
    try {
      await sealer.prune({ kind: 'prune', retention }, { signal });
    } catch (thrown) {
      if (!signal.aborted) events.onDefect(thrown);
    }
  }

  #enter(state: SaveState): void {
    this.#state = state;
    if (state.kind !== 'idle') return;
    this.#overdue = null;
    const waiting = this.#waiting.splice(0);
    for (const { rank, step } of waiting) this.begin(rank, step);
    if (this.#state.kind === 'idle') for (const resolve of this.#settled.splice(0)) resolve();
  }

  get #howLost(): 'failed' | 'abandoned' {
    return this.#stop.signal.aborted ? 'abandoned' : 'failed';
  }

  #now(): number {
    return this.#options.store.clock.monotonic();
  }
}

function refuse({ rank, step }: Begun, code: string, reason: string): void {
  rank.send({ type: 'refused', step, code, reason });
}

function codeOf(error: Error): string {
  return error instanceof HoldfastError ? error.code : 'INTERNAL';
}
