import type { Clock } from '../core/clock.ts';
import { type Deadline, effectiveDeadline, type NominalGrace } from '../domain/effective-grace.ts';
import { addNotice, type Cause, CAUSES, firstTerminating, makeNotice, type Notice, withdrawNotice } from '../domain/notice.ts';
import { SignalEcho } from './signal-echo.ts';
import type { HeardSignal } from './signals.ts';
import type { Surrounding } from './surroundings.ts';

/** What a signal means; one that another stands for is told beside it. */
const MEANING_OF: Readonly<Record<HeardSignal, { readonly cause: Cause; readonly detail?: HeardSignal }>> = {
  SIGTERM: { cause: 'sigterm' },
  SIGQUIT: { cause: 'sigterm', detail: 'SIGQUIT' },
  SIGINT: { cause: 'ctrl-c' },
  SIGHUP: { cause: 'hangup' },
  SIGUSR1: { cause: 'save-requested' },
  SIGUSR2: { cause: 'save-requested', detail: 'SIGUSR2' },
};

export interface NoticeListener {
  onNotice(notice: Notice): void;
  /** An advice was taken back. */
  onWithdrawn(notice: Notice): void;
}

/**
 * Every notice of this process, across the lives of the trainer, and the deadline that follows. The deadline only ever comes nearer; who waits
 * for it is woken when it does.
 */
export class Notices {
  readonly #clock: Clock;
  readonly #nominal: NominalGrace;
  readonly #listener: NoticeListener;
  readonly #surrounding: () => Surrounding;
  readonly #terminating = Promise.withResolvers<Notice>();
  readonly #ctrlC: SignalEcho;
  #all: readonly Notice[] = [];
  #deadline: Deadline | null = null;
  #changed = new AbortController();
  #onNearer: () => void = () => {};

  /** `surrounding` is asked when a notice comes that ends the attempt: what it says shortens the deadline. */
  constructor(clock: Clock, nominal: NominalGrace, listener: NoticeListener, surrounding: () => Surrounding) {
    this.#clock = clock;
    this.#nominal = nominal;
    this.#listener = listener;
    this.#surrounding = surrounding;
    this.#ctrlC = new SignalEcho(clock);
  }

  /** What was advised and not taken back, and what ends the attempt. */
  get all(): readonly Notice[] {
    return this.#all;
  }

  get deadline(): Deadline | null {
    return this.#deadline;
  }

  /** The first notice that ends the attempt; null while there is none. */
  get first(): Notice | null {
    return firstTerminating(this.#all);
  }

  /** Resolves with the first notice that ends the attempt. */
  get terminating(): Promise<Notice> {
    return this.#terminating.promise;
  }

  /** Somebody signalled this process. Who presses Ctrl-C a second time does not want to wait; every other signal asks for an end, or a save, in order. */
  hear(signal: HeardSignal): void {
    if (signal === 'SIGINT' && this.#ctrlC.note()) return;
    const meaning = MEANING_OF[signal];
    const isImpatient = meaning.cause === 'ctrl-c' && this.#all.some((known) => known.cause === 'ctrl-c');
    const atMs = this.#clock.now();
    this.add(makeNotice({ ...meaning, atMs, source: 'signal', ...(isImpatient ? { deadlineMs: atMs } : {}) }));
  }

  add(notice: Notice): void {
    const before = this.#all;
    this.#all = addNotice(before, notice);
    const isNew = this.#all.length > before.length;
    const deadline = notice.terminating
      ? effectiveDeadline({ nominal: this.#nominal, notices: this.#all, ...this.#surrounding() }, this.#deadline)
      : this.#deadline;
    const isNearer = deadline !== null && deadline.deadlineMs !== this.#deadline?.deadlineMs;
    this.#deadline = deadline;
    if (isNew || !notice.terminating) this.#listener.onNotice(notice);
    if (notice.terminating) this.#terminating.resolve(notice);
    if (!isNearer) return;
    this.#wake();
    this.#onNearer();
  }

  /** Tells whenever the deadline has come nearer, until `signal` is aborted; one listener at a time. */
  follow(onNearer: () => void, signal: AbortSignal): void {
    this.#onNearer = () => {
      if (!signal.aborted) onNearer();
    };
  }

  withdraw(notice: Pick<Notice, 'cause' | 'source'>): void {
    const before = this.#all;
    this.#all = withdrawNotice(before, notice);
    for (const known of before) if (!this.#all.includes(known)) this.#listener.onWithdrawn(known);
  }

  /** Resolves this long before the deadline, wherever that moves meanwhile; never while there is none. Rejects when `signal` is aborted. */
  async untilDeadline(beforeMs: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const left = this.#deadline === null ? Infinity : this.#deadline.deadlineMs - beforeMs - this.#clock.now();
      if (left <= 0) return;
      const changed = this.#changed.signal;
      try {
        await this.#clock.sleep(Math.min(left, LONGEST_SLEEP_MS), { signal: AbortSignal.any([signal, changed]) });
      } catch (thrown) {
        if (!changed.aborted || signal.aborted) throw thrown;
      }
    }
  }

  #wake(): void {
    const changed = this.#changed;
    this.#changed = new AbortController();
    changed.abort();
  }
}

/** Timers hold no longer time; and a clock that jumped is looked at again. */
const LONGEST_SLEEP_MS = 60_000;

/** The cause as people read it. */
export function labelOf({ cause }: Notice): string {
  return CAUSES[cause].label;
}
