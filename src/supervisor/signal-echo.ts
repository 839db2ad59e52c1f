import type { Clock } from '../core/clock.ts';

/** What comes within this of the first is the first one told again: nobody presses twice on purpose as fast. */
const ECHO_MS = 500;

/**
 * Tells a signal that is passed on a second time from one that is sent a second time. A terminal signals everybody in front of it, and `npx`, `npm` and the
 * first process of a container pass on what they got; `timeout` signals its command and then its group. The time counts from when
 * whoever handles the first is done with it: what came while that waited for a disk is heard only then.
 */
export class SignalEcho {
  readonly #clock: Clock;
  #isHeard = false;
  #handledMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that it has come; true when it is the first one again. */
  note(): boolean {
    if (!this.#isHeard) {
      this.#isHeard = true;
      setImmediate(() => (this.#handledMs = this.#clock.monotonic()));
      return false;
    }
    return this.#handledMs === null || this.#clock.monotonic() - this.#handledMs < ECHO_MS;
  }
}
