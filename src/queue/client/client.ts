import { request as plainRequest, Agent as PlainAgent, type IncomingMessage } from 'node:http';
import { request as secureRequest, Agent as SecureAgent } from 'node:https';
import { Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../core/clock.ts';
import { ERROR_CODES, type ErrorCode } from '../../core/error-codes.ts';
import { HoldfastError, systemCode, toError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';

/** The address of the server, and the caller’s token. */
export interface ClientOptions {
  readonly url: string;
  readonly token: string | null;
  readonly clock: Clock;
  /** The number of tries of a repeatable request. */
  readonly tries: number;
}

/** One request. */
interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string | AsyncIterable<string>;
  readonly signal?: AbortSignal | undefined;
}

const RETRY_MS = 250;
const LONGEST_RETRY_MS = 5000;
const LONGEST_ANSWER = 64 * 2 ** 20;

/** A client of the queue server’s protocol (docs/reference/queue-protocol.md). */
export class QueueClient {
  readonly #options: ClientOptions;
  readonly #agent: PlainAgent;
  /** The address, parsed at the first request. */
  #place: ReturnType<typeof urlToHttpOptions> | null = null;

  constructor(options: ClientOptions) {
    this.#options = options;
    const settings = { keepAlive: true, maxSockets: 64 };
    this.#agent = options.url.startsWith('https:') ? new SecureAgent(settings) : new PlainAgent(settings);
  }

  /**
   * Requests one JSON document. Retries while the server is unreachable: every request of the
   * protocol may be repeated.
   */
  async json<T>(
    method: 'GET' | 'POST',
    path: string,
    { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    for (let tried = 1; ; tried++) {
      try {
        const text = body === undefined ? {} : { body: JSON.stringify(body) };
        return JSON.parse(await readAll(await this.#ask({ method, path, signal, ...text }))) as T;
      } catch (thrown) {
        signal?.throwIfAborted();
        if (tried >= this.#options.tries || !isPassing(thrown)) throw thrown;
        await this.#options.clock.sleep(
          Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** Math.min(10, tried - 1)),
          signal === undefined ? {} : { signal },
        );
      }
    }
  }

  /** Sends lines as they come, no faster than the server accepts them. */
  async upload<T>(path: string, lines: AsyncIterable<string>, signal?: AbortSignal): Promise<T> {
    return JSON.parse(await readAll(await this.#ask({ method: 'POST', path, body: lines, signal }))) as T;
  }

  /** Reads an answer of many lines. A truncated answer is an error and never looks complete. */
  async *lines<T>(path: string, signal?: AbortSignal): AsyncGenerator<T> {
    const response = await this.#ask({ method: 'GET', path, signal });
    let isWhole = false;
    for await (const line of textLines(response, this.#unreachable.bind(this))) {
      const value = JSON.parse(line) as { readonly end?: boolean };
      if (value.end === true) isWhole = true;
      else yield value as Awaited<T>;
    }
    if (!isWhole) throw this.#unreachable(new Error('the answer broke off'));
  }

  /**
   * Opens the connection that shows that this worker is alive. Yields the server’s messages, and
   * ends with the connection.
   */
  async *session(path: string, signal: AbortSignal): AsyncGenerator<Readonly<Record<string, unknown>>> {
    const response = await this.#ask({ method: 'GET', path, signal });
    for await (const line of textLines(response, this.#unreachable.bind(this))) yield JSON.parse(line) as Readonly<Record<string, unknown>>;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #ask({ method, path, body, signal }: Asked): Promise<IncomingMessage> {
    const { url, token } = this.#options;
    const isStream = body !== undefined && typeof body !== 'string';
    const headers = {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': isStream ? 'application/x-ndjson' : 'application/json' }),
      ...(typeof body === 'string' ? { 'content-length': Buffer.byteLength(body) } : {}),
    };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const start = url.startsWith('https:') ? secureRequest : plainRequest;
    this.#place ??= urlToHttpOptions(new URL(url));
    const whole = { ...this.#place, path: `${(this.#place.path ?? '').replace(/\/$/, '')}${path}` };
    const request = start({ ...whole, method, headers, agent: this.#agent, ...(signal === undefined ? {} : { signal }) }, resolve);
    request.on('error', (error) => reject(this.#unreachable(error)));
    request.setTimeout(120_000, () => request.destroy(new Error('no answer for 120 s')));
    if (isStream) pipeline(Readable.from(body), request).catch((error: unknown) => reject(this.#failed(error)));
    else request.end(body);
    const response = await promise;
    if ((response.statusCode ?? 500) >= 300) throw await errorOf(response);
    return response;
  }

  /** An error of our own source of lines is passed on unchanged. */
  #failed(thrown: unknown): HoldfastError {
    return thrown instanceof HoldfastError ? thrown : this.#unreachable(thrown);
  }

  #unreachable(thrown: unknown): HoldfastError {
    if (thrown instanceof HoldfastError) return thrown;
    const { url } = this.#options;
    const why = systemCode(thrown) ?? toError(thrown).message;
    return new HoldfastError('QUEUE_UNREACHABLE', {
      message: `the queue server at ${url} cannot be reached: ${why}`,
      hint: 'Start one with `holdfast queue serve --db=queue.db`, or name another with --url or HOLDFAST_QUEUE_URL.',
      cause: thrown,
    });
  }
}

/** Whether the same request may succeed a moment later. */
function isPassing(thrown: unknown): boolean {
  return (
    thrown instanceof HoldfastError &&
    (thrown.code === 'QUEUE_UNREACHABLE' || thrown.code === 'QUEUE_DATABASE_FULL' || thrown.code === 'QUEUE_DATABASE_FAILED')
  );
}

async function errorOf(response: IncomingMessage): Promise<HoldfastError> {
  const text = await readAll(response).catch(() => '');
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string; hint: string | null } };
    const code: ErrorCode = Object.hasOwn(ERROR_CODES, error.code) ? (error.code as ErrorCode) : 'QUEUE_REQUEST_REFUSED';
    return new HoldfastError(code, error.hint === null ? { message: error.message } : { message: error.message, hint: error.hint });
  } catch {
    return new HoldfastError('QUEUE_REQUEST_REFUSED', {
      message: `the answer was ${response.statusCode ?? 0} without a word of a queue server: ${excerpt(text, 80)}`,
      hint: 'Another program may listen at this address.',
    });
  }
}

function readAll(response: IncomingMessage): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const pieces: Buffer[] = [];
  let size = 0;
  response.on('data', (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    if (size > LONGEST_ANSWER)
      response.destroy(new HoldfastError('QUEUE_REQUEST_REFUSED', { message: 'the answer of the server is too large' }));
  });
  response.once('end', () => resolve(Buffer.concat(pieces).toString()));
  response.once('error', reject);
  return promise;
}

async function* textLines(response: IncomingMessage, asError: (thrown: unknown) => HoldfastError): AsyncGenerator<string> {
  let rest = '';
  response.setEncoding('utf8');
  try {
    for await (const piece of response) {
      const lines = (rest + String(piece)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LONGEST_ANSWER) throw new HoldfastError('QUEUE_REQUEST_REFUSED', { message: 'a line of the answer is too long' });
      yield* lines;
    }
  } catch (thrown) {
    throw asError(thrown);
  }
}
