import type { Clock } from '../../core/clock.ts';

/** A signal this soon after the first is an echo of it, because no person presses twice so fast. */
const ECHO_MS = 500;

/**
 * Distinguishes a signal that was forwarded twice from one that was sent twice. A terminal signals
 * its whole foreground process group, and `npx`, `npm` and the first process of a container forward
 * it again. `timeout` signals its command and then its group. The time counts from the end of the
 * handler of the first signal. Signals that came while the handler waited for a disk arrive only
 * then.
 */
export class SignalEcho {
  readonly #clock: Clock;
  #isHeard = false;
  #handledMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that the signal has come; true when it is an echo of the first. */
  note(): boolean {
    if (!this.#isHeard) {
      this.#isHeard = true;
      setImmediate(() => (this.#handledMs = this.#clock.monotonic()));
      return false;
    }
    return this.#handledMs === null || this.#clock.monotonic() - this.#handledMs < ECHO_MS;
  }
}
