import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { systemCode, toError } from '../../core/errors.ts';
import { MetadataTrouble, nonsense, unreachable } from './trouble.ts';

export interface Question {
  readonly path: string;
  readonly method?: 'GET' | 'PUT';
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Real answers have some hundred bytes. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_SOCKETS = 4;

/**
 * Asks one address, and nobody else: no proxy of the environment is used, no redirect is followed. Whatever answers is hostile: its time and
 * its bytes are bounded.
 */
export class MetadataClient {
  readonly #origin: URL;
  readonly #clock: Clock;
  // An agent of its own: the global one can be told to use the proxies of the environment.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });

  constructor(origin: string, clock: Clock) {
    this.#origin = new URL(origin);
    this.#clock = clock;
  }

  /** Throws a MetadataTrouble when there is no answer, and the signal's reason when that is aborted. */
  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const over = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    const late = this.#clock.sleep(question.timeoutMs, { signal: stop }).then(
      () => over.abort(unreachable('it takes too long')),
      () => {},
    );
    try {
      return await this.#exchange(question, stop);
    } catch (thrown) {
      signal.throwIfAborted();
      if (over.signal.aborted) throw over.signal.reason;
      throw thrown instanceof MetadataTrouble ? thrown : unreachable(systemCode(thrown) ?? toError(thrown).message);
    } finally {
      over.abort();
      await late;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #exchange({ path, method = 'GET', headers }: Question, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const asked = request(
        new URL(path, this.#origin),
        { method, headers, agent: this.#agent, signal, maxHeaderSize: MAX_HEADER_BYTES },
        (answer) => {
          readBody(answer).then((body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }), reject);
        },
      );
      asked.on('error', reject);
      asked.end();
    });
  }
}

async function readBody(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES) throw nonsense(`more than ${MAX_BODY_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
