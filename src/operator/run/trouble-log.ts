import type { Clock } from '../../core/clock.ts';
import { printable } from '../../core/printable.ts';

const AGAIN_MS = 10 * 60_000;
const MOST = 200;

/** Says each trouble once, and again when it is still there after ten minutes. */
export class TroubleLog {
  readonly #clock: Clock;
  readonly #say: (line: string) => void;
  readonly #saidMs = new Map<string, number>();

  constructor(clock: Clock, say: (line: string) => void) {
    this.#clock = clock;
    this.#say = say;
  }

  /** Says a trouble, unless it was said lately. */
  report({ message }: { readonly message: string }): void {
    const nowMs = this.#clock.monotonic();
    const before = this.#saidMs.get(message);
    if (before !== undefined && nowMs - before < AGAIN_MS) return;
    if (this.#saidMs.size >= MOST) this.#saidMs.clear();
    this.#saidMs.set(message, nowMs);
    this.#say(`trouble: ${printable(message)}`);
  }
}
