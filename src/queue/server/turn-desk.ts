import type { Clock } from '../../core/clock.ts';
import type { QueueBackend, Turn, TurnAnswer } from '../backend.ts';
import { Batcher } from './batcher.ts';
import type { TurnRequest } from './read-turn.ts';
import type { Waiters } from './waiters.ts';
import type { WeatherStation } from './weather-station.ts';

/** The most turns in one batch; more would delay the first one. */
const MOST_TOGETHER = 128;

/** The parts that a turn needs. */
export interface TurnDeskOptions {
  readonly backend: QueueBackend;
  readonly clock: Clock;
  readonly waiters: Waiters;
  readonly weather: WeatherStation;
}

/**
 * Answers the requests of workers: batches them for the database, sizes leases by the weather, and
 * holds the requests that got nothing.
 */
export class TurnDesk {
  readonly #options: TurnDeskOptions;
  readonly #batcher: Batcher<Turn, TurnAnswer>;

  constructor(options: TurnDeskOptions) {
    this.#options = options;
    this.#batcher = new Batcher((turns) => options.backend.turns(turns), { most: MOST_TOGETHER, clock: options.clock });
  }

  /** Answers one request; `signal` is aborted when its worker disconnects. */
  async take(queue: string, request: TurnRequest, signal: AbortSignal): Promise<TurnAnswer> {
    const { clock, waiters, weather } = this.#options;
    const { turn, most, isFitted, waitMs } = request;
    const { id } = turn.session;
    weather.turn(queue, id, { finished: turn.commits.length + turn.fails.length, now: clock.monotonic() });
    if (turn.notice !== null) weather.interrupted(id);
    const lease = isFitted ? weather.fit(queue, most) : most;
    const first = await this.#batcher.add({ ...turn, queue, lease });
    if (turn.releases.length > 0) waiters.wake(queue, turn.releases.length);
    const until = clock.monotonic() + waitMs;
    let answer = first;
    const isIdle = ({ leases, isDrained }: TurnAnswer): boolean => lease > 0 && leases.length === 0 && !isDrained;
    while (isIdle(answer) && !signal.aborted && clock.monotonic() < until) {
      await waiters.wait(queue, until - clock.monotonic(), signal);
      if (!signal.aborted) answer = await this.#batcher.add({ ...nothing(turn), queue, lease });
    }
    if (answer.isDrained) {
      // A wait for this queue cannot succeed.
      waiters.wake(queue);
      weather.ended(id);
    }
    if (signal.aborted && answer.leases.length > 0) await this.#takeBack(queue, turn, answer);
    return { ...answer, commits: first.commits, held: first.held };
  }

  /** The worker disconnected before it received its items. */
  async #takeBack(queue: string, turn: TurnRequest['turn'], { leases }: TurnAnswer): Promise<void> {
    const releases = leases.map(({ item, token }) => ({ item, token, spentMs: 0 }));
    await this.#batcher.add({ ...nothing(turn), releases, queue, lease: 0 });
    this.#options.waiters.wake(queue, releases.length);
  }
}

function nothing({ session }: TurnRequest['turn']): TurnRequest['turn'] {
  return { session, commits: [], fails: [], releases: [], progress: [], notice: null };
}
