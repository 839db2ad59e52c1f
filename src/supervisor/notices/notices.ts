import type { Clock } from '../../core/clock.ts';
import { type Deadline, effectiveDeadline, type NominalGrace } from '../../domain/grace/effective-grace.ts';
import { addNotice, type Cause, CAUSES, firstTerminating, makeNotice, type Notice, withdrawNotice } from '../../domain/grace/notice.ts';
import { DistantNotices, isDistant, nearnessMs } from './distant-notices.ts';
import { SignalEcho } from './signal-echo.ts';
import type { HeardSignal } from './signals.ts';
import type { NodeFact } from './node-facts.ts';

/** The meaning of a signal; a signal that stands for another names it in its detail. */
const MEANING_OF: Readonly<Record<HeardSignal, { readonly cause: Cause; readonly detail?: HeardSignal }>> = {
  SIGTERM: { cause: 'sigterm' },
  SIGQUIT: { cause: 'sigterm', detail: 'SIGQUIT' },
  SIGINT: { cause: 'ctrl-c' },
  SIGHUP: { cause: 'hangup' },
  SIGUSR1: { cause: 'save-requested' },
  SIGUSR2: { cause: 'save-requested', detail: 'SIGUSR2' },
};

/** Gets the notices and their withdrawals. */
export interface NoticeListener {
  onNotice(notice: Notice): void;
  /** An advice was withdrawn. */
  onWithdrawn(notice: Notice): void;
}

/**
 * Every notice of this process, across the attempts of the run, and the deadline that follows. The
 * deadline only ever comes nearer, and its waits follow it.
 */
export class Notices {
  readonly #clock: Clock;
  readonly #nominal: NominalGrace;
  readonly #listener: NoticeListener;
  readonly #surrounding: () => NodeFact;
  readonly #terminating = Promise.withResolvers<Notice>();
  readonly #ctrlC: SignalEcho;
  #all: readonly Notice[] = [];
  #deadline: Deadline | null = null;
  #changed = new AbortController();
  #onNearer: () => void = () => {};
  readonly #distant = new DistantNotices();

  /** `surrounding` is read when a notice ends the attempt; its facts shorten the deadline. */
  constructor(clock: Clock, nominal: NominalGrace, listener: NoticeListener, surrounding: () => NodeFact) {
    this.#clock = clock;
    this.#nominal = nominal;
    this.#listener = listener;
    this.#surrounding = surrounding;
    this.#ctrlC = new SignalEcho(clock);
  }

  /** The advice that stands, and the notices that end the attempt. */
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

  /**
   * Handles a signal to this process. A second Ctrl-C ends the attempt at once; every other signal
   * asks for an orderly end, or a save.
   */
  hear(signal: HeardSignal): void {
    if (signal === 'SIGINT' && this.#ctrlC.note()) return;
    const meaning = MEANING_OF[signal];
    const isImpatient = meaning.cause === 'ctrl-c' && this.#all.some((known) => known.cause === 'ctrl-c');
    const atMs = this.#clock.now();
    this.add(makeNotice({ ...meaning, atMs, source: 'signal', ...(isImpatient ? { deadlineMs: atMs } : {}) }));
  }

  /**
   * Adds a notice. If its end lies far ahead, it asks for a save now and ends the attempt when the
   * end is near. Until then the trainer can use the time.
   */
  add(notice: Notice): void {
    if (this.first === null && isDistant(notice, this.#clock.now(), this.#nominal.graceMs)) this.#postpone(notice);
    else this.#note(notice);
  }

  #postpone(notice: Notice): void {
    const nearMs = nearnessMs(this.#nominal.graceMs);
    // Of two distant ends the later notice counts, even if it moves the end back.
    const renew = (said: Notice): void => {
      this.#all = withdrawNotice(this.#all, said);
      this.#note(said);
    };
    const isNew = this.#distant.set(notice, { clock: this.#clock, nearMs, onNear: () => renew(notice) });
    if (isNew) renew({ ...notice, terminating: false });
  }

  /** Stops the waits for distant ends. */
  close(): void {
    this.#distant.clear();
  }

  #note(notice: Notice): void {
    const before = this.#all;
    this.#all = addNotice(before, notice);
    const isNew = this.#all.length > before.length || (notice.terminating && !wasTerminating(before, notice));
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

  /**
   * Calls the listener whenever the deadline has come nearer, until `signal` is aborted; one
   * listener at a time.
   */
  follow(onNearer: () => void, signal: AbortSignal): void {
    this.#onNearer = () => {
      if (!signal.aborted) onNearer();
    };
  }

  withdraw(notice: Pick<Notice, 'cause' | 'source'>): void {
    this.#distant.delete(notice);
    const before = this.#all;
    this.#all = withdrawNotice(before, notice);
    for (const known of before) if (!this.#all.includes(known)) this.#listener.onWithdrawn(known);
  }

  /**
   * Resolves this long before the deadline, wherever it moves meanwhile; never while there is none.
   * Rejects when `signal` is aborted.
   */
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

/** Bounds each sleep: timers hold no longer time, and the wall clock may jump. */
const LONGEST_SLEEP_MS = 60_000;

function wasTerminating(before: readonly Notice[], { cause, source }: Notice): boolean {
  return before.some((known) => known.terminating && known.cause === cause && known.source === source);
}

/** The cause as people read it. */
export function labelOf({ cause }: Notice): string {
  return CAUSES[cause].label;
}
