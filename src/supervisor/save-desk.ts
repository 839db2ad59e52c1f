import type { Retention } from '../checkpoint/store/retention.ts';
import { abandonSave } from '../checkpoint/store/save.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import { HoldfastError, toError } from '../core/errors.ts';
import {
  type DeskProgress,
  type DeskState,
  type DeskWaiting,
  type Gathering,
  IDLE,
  progressOf,
  type SealedBytes,
  waitingOf,
} from './desk-state.ts';
import { type OwnTimes, type SaveTimings, UNTOLD, UNWRITTEN, withRank, type Written } from './save-timings.ts';
import type { OpenedSave, SaveWay } from './save-way.ts';
import type { Rank } from './sdk/server.ts';
import type { SealedSave } from './sealing/messages.ts';
import { namesOf } from './sealing/one-writer.ts';
import type { Sealer } from './sealing/sealer.ts';
import { dropImage, hasHandedOver, markOf } from './staging/image.ts';

/** Told as it happens. */
export interface SaveEvents {
  onBegun(save: OpenedSave): void;
  onHandedOver(save: OpenedSave, writeMs: number): void;
  onSealed(sealed: SealedSave, timings: SaveTimings): void;
  /** The save came to nothing, or was given up; every earlier checkpoint is as it was. `step` is what it would have been. */
  onLost(step: number, error: Error, outcome: 'failed' | 'abandoned'): void;
  /** Something beside the saves went wrong. */
  onDefect(thrown: unknown): void;
}

export interface DeskOptions {
  readonly store: OpenStore;
  readonly way: SaveWay;
  readonly sealer: Sealer;
  /** What goes after each save; null: nothing. */
  readonly retention: Retention | null;
  readonly events: SaveEvents;
  /** The ranks that take part in a save that begins now. */
  readonly participants: () => readonly Rank[];
  /** The numbers of ranks that were here and are not any more, while others go on. */
  readonly lost: () => readonly number[];
  /** The furthest step that a rank is known to have made; null: none. */
  readonly furthest: () => number | null;
}

/** How long ranks wait for each other at the step where all shall save. */
const GATHER_MS = 60_000;

/** A rank that waits for the answer to this step. */
interface Begun {
  readonly rank: Rank;
  readonly step: number;
}

/**
 * Where ranks bring their saves, one at a time.
 *
 * Idle: nothing is going on. The first rank that begins makes it gathering.
 * Gathering: it waits for the other ranks to begin the same step; with one rank that is at once. When all are here there is room for the save or
 * it is refused; with room each rank is given the folder, and it is writing.
 * Writing: the ranks write. When the last one has handed over it is sealing; when one fails or goes away before, the save is given up.
 * Sealing: the bytes are checksummed and made durable while the ranks train on. Who begins meanwhile waits: back-pressure, no pile.
 * Tidying: it is sealed, and memory and older checkpoints are being freed. Who begins waits a moment longer.
 *
 * Where the disk does not answer for far too long, whoever waits or comes is refused ({@link refuseMeanwhile}), until it does.
 *
 * Nothing here ever throws at a caller: what goes wrong with a save is told, and training goes on.
 */
export class SaveDesk {
  readonly #options: DeskOptions;
  readonly #stop = new AbortController();
  #state: DeskState = IDLE;
  #sealed: SealedBytes = { done: 0, total: 0, movedMs: 0 };
  /** Why nobody waits for the save that is being sealed or tidied up after; null while one may. */
  #overdue: string | null = null;
  #waiting: Begun[] = [];
  #settled: (() => void)[] = [];
  /** The step that somebody else was told to expect; null: none. */
  #expected: number | null = null;
  /** Why no save begins any more; null while one may. */
  #closed: string | null = null;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  get phase(): DeskState['kind'] {
    return this.#state.kind;
  }

  /** The step whose save has been handed over or is being written; null when none is. */
  get step(): number | null {
    return this.#state.kind === 'writing' || this.#state.kind === 'sealing' ? this.#state.save.step : null;
  }

  /** How far the save that goes on has come; null when none does. */
  get progress(): DeskProgress | null {
    return progressOf(this.#state, this.#sealed);
  }

  /** What waits for the disk here; null: nothing does. */
  get waiting(): DeskWaiting | null {
    return waitingOf(this.#state, this.#sealed);
  }

  /** True while a rank cannot go on before something has happened here. */
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

  /** A rank that was asked for a step has gone past it: nobody can save that step any more. Nothing is lost: a later one is named. */
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
    // Its last word may have died with it; the mark that it left has not.
    if (state.kind === 'writing' && state.missing.has(rank) && state.save.image !== undefined && hasHandedOver(state.save.image, rank.rank))
      return this.handOver(rank, state.save.save, UNTOLD);
    const isNeeded = state.kind === 'gathering' ? state.all.includes(rank) : state.kind === 'writing' && state.missing.has(rank);
    if (isNeeded) this.#giveUp(`rank ${rank.rank} went away before it had written its part`);
  }

  /** Resolves when no save is going on; what was handed over is sealed by then, or lost. */
  idle(): Promise<void> {
    if (this.#state.kind === 'idle') return Promise.resolve();
    return new Promise((resolve) => this.#settled.push(resolve));
  }

  /** The disk does not answer: training goes on without the saves that would wait for it, until it does. */
  refuseMeanwhile(reason: string): void {
    if (this.waiting === null) return;
    this.#overdue = reason;
    for (const one of this.#waiting.splice(0)) refuse(one, 'SEAL_OVERDUE', reason);
  }

  /** No save begins any more; what was handed over is still sealed. */
  close(reason: string): void {
    this.#closed ??= reason;
    for (const one of this.#waiting.splice(0)) refuse(one, 'SAVE_INCOMPLETE', reason);
  }

  /** Gives up what is not sealed yet, for good. */
  abandon(reason: string): void {
    this.#stop.abort(new HoldfastError('SAVE_INCOMPLETE', { message: reason }));
    this.close(reason);
    if (this.#state.kind === 'gathering' || this.#state.kind === 'writing') this.#giveUp(reason);
  }

  /** A rank waits for one answer at a time. Who begins another save without having written the one that is open never will. */
  #wait(rank: Rank, step: number): void {
    if (this.#state.kind === 'writing' && this.#state.missing.has(rank)) {
      this.#giveUp(`rank ${rank.rank} has begun step ${step} without having written step ${this.#state.save.step}`);
      return this.begin(rank, step);
    }
    if (this.#waiting.some((one) => one.rank === rank)) refuse({ rank, step }, 'SAVE_MIXED', `rank ${rank.rank} has begun a save already`);
    else {
      this.#waiting.push({ rank, step });
      this.#expect(step);
    }
  }

  /** Whoever else has a part in the save hears that it will come, until it is opened or nobody waits for it any more. */
  #expect(step: number): void {
    const { way, events } = this.#options;
    if (way.expect === undefined || this.#expected === step) return;
    this.#expected = step;
    const isAwaited = (): boolean =>
      (this.#state.kind === 'gathering' && this.#state.step === step) || this.#waiting.some((one) => one.step === step);
    const { signal } = this.#stop;
    way
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
    // They would never come, and may wait for this one at a later step.
    if (others.length > 0 && (this.#options.furthest() ?? step) > step)
      return refuse({ rank, step }, 'SAVE_INCOMPLETE', `other ranks are past step ${step} already`);
    const state: Gathering = { kind: 'gathering', step, here: new Set(), all: [rank, ...others], given: new AbortController() };
    this.#enter(state);
    this.#expect(step);
    this.#arrive(state, rank);
    if (this.#state === state && others.length > 0) void this.#boundGathering(state);
  }

  /** What is left of the ranks would write a part, which would be sealed as if it were the whole. */
  #refuseWithout(lost: readonly number[], rank: Rank, step: number): void {
    const message = `rank ${lost.join(', ')} is gone, and without it step ${step} would not be whole`;
    refuse({ rank, step }, 'SAVE_INCOMPLETE', message);
    const error = new HoldfastError('SAVE_INCOMPLETE', { message, hint: 'Every earlier checkpoint is as it was.' });
    this.#options.events.onLost(step, error, 'failed');
  }

  async #boundGathering(state: Gathering): Promise<void> {
    try {
      await this.#options.store.clock.sleep(GATHER_MS, { signal: state.given.signal });
    } catch {
      return;
    }
    const missing = state.all.filter((rank) => !state.here.has(rank)).map(({ rank }) => rank);
    if (this.#state === state) this.#giveUp(`rank ${missing.join(', ')} did not come to step ${state.step} in time`);
  }

  #arrive(state: Gathering, rank: Rank): void {
    // One that has come since the first began takes part too.
    if (!state.all.includes(rank)) state.all.push(rank);
    state.here.add(rank);
    if (state.given.signal.aborted || !state.all.every((one) => state.here.has(one))) return;
    state.given.abort();
    void this.#open(state);
  }

  async #open(state: Gathering): Promise<void> {
    const { way, events } = this.#options;
    const { step, all } = state;
    try {
      const save = await way.open(step, all, this.#stop.signal);
      if (this.#state !== state) return this.#discard(save);
      this.#enter({ kind: 'writing', save, missing: new Set(all), all, sinceMs: this.#now(), written: UNWRITTEN });
      events.onBegun(save);
      const { image } = save;
      for (const rank of all) {
        const mark = image === undefined ? null : markOf(image, rank.rank);
        const names = save.worldSize === 1 ? null : namesOf(image?.folder ?? save.folder, rank.rank);
        rank.send({ type: 'folder', step, save: save.save, path: image?.data ?? save.data, mark, names });
      }
    } catch (thrown) {
      if (this.#state === state) this.#drop(state, toError(thrown));
    }
  }

  #giveUp(reason: string): void {
    const state = this.#state;
    const hint = 'Every earlier checkpoint is as it was.';
    if (state.kind === 'gathering' || state.kind === 'writing')
      this.#drop(state, new HoldfastError('SAVE_INCOMPLETE', { message: reason, hint }));
  }

  #drop(state: DeskState & { readonly kind: 'gathering' | 'writing' }, error: Error): void {
    const { events } = this.#options;
    if (state.kind === 'gathering') {
      state.given.abort();
      for (const rank of state.here) refuse({ rank, step: state.step }, codeOf(error), error.message);
      events.onLost(state.step, error, this.#howLost);
    } else {
      for (const rank of state.all) rank.send({ type: 'lost', save: state.save.save, reason: error.message });
      events.onLost(state.save.step, error, this.#howLost);
      this.#discard(state.save);
    }
    this.#enter(IDLE);
  }

  async #seal(save: OpenedSave, all: readonly Rank[], written: Written): Promise<void> {
    const { store, way, events } = this.#options;
    const { signal } = this.#stop;
    const startedMs = this.#now();
    try {
      const onBytes = (done: number, total: number): void => {
        this.#sealed = { done, total, movedMs: this.#now() };
      };
      const sealed = await way.seal(save, all, { writeMs: written.writeMs, signal, onBytes });
      const { path, bytes, phases } = sealed;
      // It has answered: whoever comes now waits for what is left, which is little.
      this.#overdue = null;
      this.#enter({ kind: 'tidying', save, sinceMs: this.#now() });
      for (const rank of all) rank.send({ type: 'sealed', save: save.save, step: save.step, path });
      events.onSealed(sealed, { step: save.step, bytes, ...written, sealMs: this.#now() - startedMs, phases });
      if (save.image !== undefined) await dropImage(save.image.folder);
      await this.#prune();
    } catch (thrown) {
      const error = toError(thrown);
      // The thread removes what was given up, when its disk lets it, and else whoever comes next; here nothing waits for a disk at a deadline.
      if (!signal.aborted) abandonSave(store, save);
      // What there was no time for stays in memory: a next life on this node finds it.
      if (save.image !== undefined && !signal.aborted) await dropImage(save.image.folder);
      for (const rank of all) rank.send({ type: 'lost', save: save.save, reason: error.message });
      events.onLost(save.step, error, this.#howLost);
    } finally {
      this.#enter(IDLE);
    }
  }

  /** Lets go of what was not handed over. */
  #discard(save: OpenedSave): void {
    abandonSave(this.#options.store, save);
    if (save.image !== undefined) void dropImage(save.image.folder);
  }

  /** What may go goes after each save. That it could not is told; the save is sealed all the same. */
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

  #enter(state: DeskState): void {
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
