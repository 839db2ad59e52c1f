import { connect, type Socket } from 'node:net';
import type { Clock } from '../../../core/clock.ts';
import { systemCode, toError } from '../../../core/errors.ts';
import { type Answer, readAnswer } from './answer.ts';
import { MetadataTrouble, unreachable } from './trouble.ts';

/** A question to a metadata service. */
export interface Question {
  readonly path: string;
  readonly method?: 'GET' | 'PUT';
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/**
 * Asks one address directly: it uses no proxy of the environment, and follows no redirect. It
 * treats the answer as hostile, with bounded time and bytes. Each question has its own connection.
 * The HTTP client of the runtime would take a sixth of the supervisor's memory, so this does
 * without.
 */
export class MetadataClient {
  readonly #origin: URL;
  readonly #clock: Clock;

  constructor(origin: string, clock: Clock) {
    this.#origin = new URL(origin);
    this.#clock = clock;
  }

  /**
   * Throws a MetadataTrouble when there is no answer, and the signal's reason when that is aborted.
   */
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

  async #exchange(question: Question, signal: AbortSignal): Promise<Answer> {
    const { hostname, port } = this.#origin;
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 80 : Number(port) });
    const abort = (): void => void socket.destroy(toError(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    try {
      socket.write(formatQuestion(question, this.#origin.host));
      return await hear(socket);
    } finally {
      signal.removeEventListener('abort', abort);
      // Later errors of this socket do not matter.
      socket.on('error', () => {});
      socket.destroy();
    }
  }
}

function hear(socket: Socket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const read = (isEnded: boolean): void => {
      try {
        const answer = readAnswer(bytes, isEnded);
        if (answer !== null) resolve(answer);
      } catch (thrown) {
        reject(toError(thrown));
        socket.destroy();
      }
    };
    socket.on('data', (piece) => {
      bytes = Buffer.concat([bytes, piece]);
      read(false);
    });
    socket.on('end', () => read(true));
    socket.on('error', reject);
    socket.on('close', () => reject(unreachable('the connection was closed')));
  });
}

/** The names and values here are constants, or were checked to be valid in a header. */
function formatQuestion({ path, method = 'GET', headers }: Question, host: string): string {
  const lines = Object.entries({ Host: host, Connection: 'close', 'Content-Length': method === 'PUT' ? '0' : '', ...headers });
  const head = lines.flatMap(([name, value]) => (value === '' ? [] : [`${name}: ${value}\r\n`])).join('');
  return `${method} ${path} HTTP/1.1\r\n${head}\r\n`;
}
