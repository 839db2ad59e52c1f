import type { Clock } from '../../src/core/clock.ts';
import type { Rng } from '../../src/core/rng.ts';
import { succeeded } from '../../src/kube/api/outcome.ts';
import { refusal } from '../../src/kube/memory/refusals.ts';
import type { RequestFault, WatchFault, Weather } from '../../src/kube/memory/weather.ts';

/** The faults between one operator and the API server, until they are switched off. */
export class StormyWeather implements Weather {
  isCalm = false;
  readonly #rng: Rng;
  readonly #clock: Clock;
  readonly #faultShare: number;
  #outageEndMs = 0;
  #lagEndMs = 0;
  /** The kind whose watch lags now; null: none. */
  #lagging: string | null = null;

  constructor(rng: Rng, clock: Clock) {
    this.#rng = rng;
    this.#clock = clock;
    this.#faultShare = rng.pick([0, 0.02, 0.1]);
  }

  /** No request reaches the API server for a while. */
  outage(ms: number): void {
    this.#outageEndMs = this.#clock.monotonic() + ms;
  }

  /** The watch of a kind shows everything late for a while. */
  lag(plural: string, ms: number): void {
    this.#lagging = plural;
    this.#lagEndMs = this.#clock.monotonic() + ms;
  }

  request({ verb }: { readonly verb: string }): RequestFault {
    const rng = this.#rng;
    if (this.isCalm) return { latencyMs: 2, failure: null, isDone: false };
    const latencyMs = rng.next() < 0.05 ? rng.integer(100, 2000) : rng.integer(1, 20);
    if (this.#clock.monotonic() < this.#outageEndMs)
      return { latencyMs, failure: refusal('unavailable', 'the server is away'), isDone: false };
    if (rng.next() >= this.#faultShare) return { latencyMs, failure: null, isDone: false };
    const isWrite = verb !== 'get' && verb !== 'list' && verb !== 'watch' && verb !== 'log';
    const failure = rng.pick([
      refusal('unavailable', 'no answer'),
      refusal('tooManyRequests', 'ask again later', 1000),
      ...(isWrite ? [refusal('conflict', 'has been modified')] : []),
    ]);
    return { latencyMs, failure, isDone: isWrite && failure.kind === 'unavailable' && rng.next() < 0.5 };
  }

  watch({ resource }: { readonly resource: { readonly plural: string } }): WatchFault {
    const rng = this.#rng;
    if (this.isCalm) return { lagMs: 0, isRepeated: false, end: null };
    const isLagging = resource.plural === this.#lagging && this.#clock.monotonic() < this.#lagEndMs;
    const lagMs = isLagging ? this.#lagEndMs - this.#clock.monotonic() : rng.integer(0, 50);
    const isEnding = rng.next() < this.#faultShare / 2;
    const end = isEnding ? rng.pick([succeeded(null), refusal('unavailable', 'reset'), refusal('gone', 'too old')]) : null;
    return { lagMs, isRepeated: rng.next() < 0.05, end };
  }

  done(): void {
    // The book reads the history of the cluster instead.
  }
}
