import type { Clock } from '../../core/clock.ts';
import { formatDuration } from '../../core/duration.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';

/** How long a start waits for a silent store before it decides. */
const WAIT_MS = 60_000;
/** How long a start that needs an answer keeps retrying. */
export const DEFAULT_PATIENCE_MS = 10 * 60_000;
/** The pause between two rounds of questions. */
const PAUSE_MS = 5000;
/**
 * The deadline while a copy arrives. Its requests notice silence themselves, and a slow disk may
 * need this long to sync.
 */
const SYNC_MS = 10 * 60_000;
/** The fewest bytes that count as progress: a store that drips is silent. */
const LEAST_PROGRESS = 64 * 1024;

/** How patient a start is, and its callback. */
export interface PatienceOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly patienceMs: number;
  /** Called once for each wait, with what it is for. */
  readonly onWait: (sentence: string) => void;
}

/** A question to the store. */
export interface Question<T> {
  readonly signal: AbortSignal;
  /** Whether the start may continue without an answer. */
  readonly isOptional: boolean;
  /**
   * Asks the store. Each call of `onProgress` with the total of received bytes extends the
   * deadline.
   */
  readonly ask: (signal: AbortSignal, onProgress: (done: number) => void) => Promise<T>;
}

/**
 * Limits how long one start waits for the store. All its questions share one deadline, {@link
 * WAIT_MS}. At the deadline, a start that may continue without an answer does so. Any other start
 * retries until its patience ends, with REMOTE_UNAVAILABLE (exit code 75).
 */
export class StartPatience {
  readonly #options: PatienceOptions;
  #beganMs: number;
  readonly #waitMs: number;
  #isTold = false;

  constructor(options: PatienceOptions) {
    this.#options = options;
    this.#beganMs = options.clock.monotonic();
    this.#waitMs = Math.min(WAIT_MS, options.patienceMs);
  }

  async ask<T>(question: Question<T>): Promise<T> {
    const { clock, patienceMs } = this.#options;
    const { signal, isOptional } = question;
    for (;;) {
      const limitMs = isOptional ? this.#waitMs : Math.min(this.#usedMs + WAIT_MS, patienceMs);
      try {
        const answer = await this.#within(limitMs, question);
        // The store answered, so the next question has its own time.
        this.#beganMs = this.#options.clock.monotonic();
        return answer;
      } catch (thrown) {
        signal.throwIfAborted();
        if (isOptional || !mayPass(thrown)) throw thrown;
        if (this.#usedMs + PAUSE_MS >= patienceMs) throw this.#gaveUp(thrown);
        this.#tell(`${toError(thrown).message}; the start retries for at most ${formatDuration(patienceMs)} (--remote-patience)`);
        await clock.sleep(PAUSE_MS, { signal });
      }
    }
  }

  get #usedMs(): number {
    return this.#options.clock.monotonic() - this.#beganMs;
  }

  /** Asks once, within a deadline that progress extends. */
  async #within<T>(limitMs: number, { signal, ask }: Question<T>): Promise<T> {
    const { clock, url } = this.#options;
    const over = new AbortController();
    let untilMs = Math.max(this.#usedMs, limitMs);
    let counted = 0;
    const onProgress = (done: number): void => {
      if (done - counted < LEAST_PROGRESS) return;
      counted = done;
      untilMs = Math.max(untilMs, this.#usedMs + SYNC_MS);
    };
    const late = (async (): Promise<never> => {
      await clock.sleep(Math.min(PAUSE_MS, untilMs - this.#usedMs), { signal: over.signal });
      if (this.#usedMs < untilMs) this.#tell(`the start waits for ${url}, for at most ${formatDuration(untilMs - this.#usedMs)} more`);
      while (this.#usedMs < untilMs) await clock.sleep(untilMs - this.#usedMs, { signal: over.signal });
      over.abort(silent(url));
      throw silent(url);
    })();
    try {
      // A folder on a hanging volume does not even react to the abort.
      return await Promise.race([ask(AbortSignal.any([signal, over.signal]), onProgress), late]);
    } finally {
      over.abort();
      late.catch(() => {});
    }
  }

  #tell(sentence: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#options.onWait(sentence);
  }

  #gaveUp(thrown: unknown): HoldfastError {
    const { url, patienceMs } = this.#options;
    return new HoldfastError('REMOTE_UNAVAILABLE', {
      message: `${printable(url)} did not answer within ${formatDuration(patienceMs)}: ${toError(thrown).message}`,
      hint: 'Start again when the store answers, or with a longer --remote-patience.',
      cause: thrown,
    });
  }
}

function silent(url: string): HoldfastError {
  return new HoldfastError('REMOTE_UNAVAILABLE', {
    message: `${printable(url)} has not answered`,
    hint: 'Check the endpoint, the network policy and the proxy settings.',
  });
}

/** Whether a retry may help. */
function mayPass(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && thrown.code === 'REMOTE_UNAVAILABLE';
}
