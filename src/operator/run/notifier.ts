import type { Clock } from '../../core/clock.ts';
import { systemCode } from '../../core/errors.ts';
import type { News } from './news.ts';
import { notificationOf } from './notification.ts';

/** Sends a body; resolves to the status of HTTP. */
export type Post = (body: string, options: { readonly signal: AbortSignal }) => Promise<number>;

/** What a notifier works with. */
export interface NotifierOptions {
  readonly post: Post;
  readonly clock: Clock;
  /** Hears of what was not delivered. It never names the address, which may hold a secret. */
  readonly say: (line: string) => void;
}

const TRIES = 5;
const FIRST_PAUSE_MS = 1000;
const ANSWER_MS = 10_000;
/** More wait only where the receiver has been gone for long. */
const MOST_WAITING = 100;

/** Delivers news one after the other, each at most a few times. What waits is not kept on disk. */
export class Notifier {
  readonly #options: NotifierOptions;
  #waiting: News[] = [];
  #wake: (() => void) | null = null;

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  hear(news: News): void {
    if (this.#waiting.length === MOST_WAITING) this.#giveUp(this.#waiting.shift(), 'too many others wait');
    this.#waiting.push(news);
    this.#wake?.();
  }

  /** Delivers until the signal ends it. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    signal.addEventListener('abort', () => this.#wake?.(), { once: true });
    while (!signal.aborted) {
      const news = this.#waiting.shift();
      if (news === undefined) await this.#next();
      else await this.#deliver(news, signal);
    }
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
    });
  }

  async #deliver(news: News, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify(notificationOf(news));
    let reason = '';
    for (let tried = 1; tried <= TRIES; tried++) {
      const answer = await this.#try(body, signal);
      if (answer === 'delivered' || signal.aborted) return;
      reason = answer.reason;
      if (answer.isFinal) break;
      if (tried < TRIES) await this.#options.clock.sleep(FIRST_PAUSE_MS * 2 ** (tried - 1), { signal }).catch(() => undefined);
    }
    this.#giveUp(news, reason);
  }

  async #try(body: string, signal: AbortSignal): Promise<'delivered' | { readonly reason: string; readonly isFinal: boolean }> {
    try {
      const status = await this.#options.post(body, { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]) });
      if (status >= 200 && status < 300) return 'delivered';
      const isBusy = status === 408 || status === 429 || status >= 500;
      return { reason: `the receiver answered with ${status}`, isFinal: !isBusy };
    } catch (thrown) {
      // The message of the error may hold the address.
      const code = systemCode(thrown) ?? systemCode(thrown instanceof Error ? thrown.cause : null);
      return { reason: `the receiver did not answer${code === null ? '' : ` (${code})`}`, isFinal: false };
    }
  }

  #giveUp(news: News | undefined, reason: string): void {
    if (news !== undefined) this.#options.say(`a notification about ${news.namespace}/${news.run} was not delivered: ${reason}`);
  }
}

/** Posts JSON to an address. A redirect is not followed: it could lead anywhere. */
export function postTo(url: URL): Post {
  return async (body, { signal }) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal,
      redirect: 'manual',
    });
    await response.body?.cancel();
    return response.status;
  };
}
