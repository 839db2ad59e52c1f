import { request as plainRequest, Agent as PlainAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest, Agent as SecureAgent } from 'node:https';
import { Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError, systemCode, toError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import { type ServerError, serverError } from './server-error.ts';
import { TurnStream } from './turn-stream.ts';

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

/** A request that is on its way. */
interface Started {
  readonly request: ClientRequest;
  readonly answered: Promise<IncomingMessage>;
  /** Ends the wait for the answer with this error. */
  readonly fail: (error: unknown) => void;
}

/** A connection without a word for this long is dead. */
const SILENCE_MS = 120_000;
/** A server that takes turns as lines says so at once. */
const STREAM_OPENS_MS = 3000;
const RETRY_MS = 250;
const LONGEST_RETRY_MS = 5000;
const LONGEST_ANSWER = 64 * 2 ** 20;

/** A client of the queue server’s protocol (docs/reference/queue-protocol.md). */
export class QueueClient {
  readonly #options: ClientOptions;
  readonly #agent: PlainAgent;
  readonly #closing = new AbortController();
  /** The connection that all turns share; null: it opens at the next turn. */
  #stream: Promise<TurnStream | null> | null = null;
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
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return this.#repeated(() => this.#document<T>({ method, path, signal, ...text }), signal);
  }

  /**
   * Takes a turn that does not wait for items. All turns of this client share one connection, if
   * the server and all proxies before it let them.
   */
  async turn<T>(queue: string, turn: object, signal?: AbortSignal): Promise<T> {
    return this.#repeated(async () => {
      const stream = await (this.#stream ??= this.#openStream());
      if (stream !== null) return unlessAborted(stream.ask(queue, turn) as Promise<T>, signal);
      return this.#document<T>({ method: 'POST', path: turnPath(queue), signal, body: JSON.stringify(turn) });
    }, signal);
  }

  /** Null: this server takes turns one by one, or a proxy in front of it keeps their lines back. */
  async #openStream(): Promise<TurnStream | null> {
    const { request, answered } = this.#start({ method: 'POST', path: '/v1/turns' }, { 'content-type': 'application/x-ndjson' });
    request.flushHeaders();
    try {
      const opened = await Promise.race([answered, this.#options.clock.sleep(STREAM_OPENS_MS, { signal: this.#closing.signal })]);
      const onBroken = (thrown: unknown): HoldfastError => {
        this.#stream = null;
        return this.#unreachable(thrown);
      };
      if (opened?.statusCode === 200) return new TurnStream(request, opened, { onBroken, onRefused: serverError });
    } catch (thrown) {
      this.#stream = null;
      throw this.#unreachable(thrown);
    }
    // A later failure of this request concerns nobody.
    answered.catch(() => {});
    request.destroy();
    return null;
  }

  /** Tries again while the server is unreachable: every request of the protocol may be repeated. */
  async #repeated<T>(once: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let tried = 1; ; tried++) {
      try {
        return await once();
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
    return this.#document<T>({ method: 'POST', path, body: lines, signal });
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
    this.#closing.abort();
    this.#agent.destroy();
  }

  /** The whole answer of a request. One that breaks off counts as none. */
  async #document<T>(asked: Asked): Promise<T> {
    const response = await this.#ask(asked);
    const text = await readAll(response).catch((thrown: unknown) => {
      asked.signal?.throwIfAborted();
      throw this.#unreachable(thrown);
    });
    try {
      return JSON.parse(text) as T;
    } catch {
      throw notOurs(response, text);
    }
  }

  async #ask({ body, ...asked }: Asked): Promise<IncomingMessage> {
    const isStream = body !== undefined && typeof body !== 'string';
    const headers = {
      ...(body === undefined ? {} : { 'content-type': isStream ? 'application/x-ndjson' : 'application/json' }),
      ...(typeof body === 'string' ? { 'content-length': Buffer.byteLength(body) } : {}),
    };
    const { request, answered, fail } = this.#start(asked, headers);
    if (isStream) pipeline(Readable.from(body), request).catch((error: unknown) => fail(this.#failed(error)));
    else request.end(body);
    const response = await answered;
    if ((response.statusCode ?? 500) >= 300) throw await errorOf(response);
    return response;
  }

  #start({ method, path, signal }: Omit<Asked, 'body'>, headers: Readonly<Record<string, string | number>>): Started {
    const { url, token } = this.#options;
    const { promise: answered, resolve, reject: fail } = Promise.withResolvers<IncomingMessage>();
    const start = url.startsWith('https:') ? secureRequest : plainRequest;
    this.#place ??= urlToHttpOptions(new URL(url));
    const place = { ...this.#place, path: `${(this.#place.path ?? '').replace(/\/$/, '')}${path}` };
    const all = token === null ? headers : { ...headers, authorization: `Bearer ${token}` };
    const request = start({ ...place, method, headers: all, agent: this.#agent, ...(signal === undefined ? {} : { signal }) }, resolve);
    request.on('error', (error) => fail(this.#unreachable(error)));
    request.setTimeout(SILENCE_MS, () => request.destroy(new Error(`no answer for ${SILENCE_MS / 1000} s`)));
    return { request, answered, fail };
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
    return serverError((JSON.parse(text) as { readonly error: ServerError }).error);
  } catch {
    return notOurs(response, text);
  }
}

function notOurs({ statusCode }: IncomingMessage, text: string): HoldfastError {
  return new HoldfastError('QUEUE_REQUEST_REFUSED', {
    message: `the answer was ${statusCode ?? 0} without a word of a queue server: ${excerpt(text, 80)}`,
    hint: 'Another program may listen at this address.',
  });
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

/** The address of a turn of this queue. */
export function turnPath(queue: string): string {
  return `/v1/queues/${encodeURIComponent(queue)}/turn`;
}

/** The outcome of the work, or the reason of the signal, whichever comes first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort));
}
