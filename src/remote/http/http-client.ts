import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError, systemCode, toError } from '../../core/errors.ts';
import { RequestFailure, TOO_LONG } from '../transfer/failure.ts';
import { untilDrips } from './drip-watch.ts';
import { type Body, bodySize, sendBody } from './body.ts';
import type { Routes } from './connect.ts';
import { hostHeader, type Origin } from './origin.ts';
import type { FilePlace } from './ranges/range-messages.ts';
import { http, https } from './runtime-http.ts';

/** One HTTP request. */
export interface HttpRequest {
  readonly method: string;
  readonly origin: Origin;
  /** Path and query, encoded as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Body;
  /** Takes the bytes of a successful answer as they arrive; without a sink they are collected. */
  readonly sink?: BodySink;
  /** The most bytes of a collected answer. */
  readonly maxBytes?: number;
  /** The bytes expected in either direction; the deadline grows with them. */
  readonly expectedBytes?: number;
  /** Replaces the usual deadline. */
  readonly deadlineMs?: number;
}

/** Takes the body of a successful answer. */
export interface BodySink {
  write(bytes: Buffer): Promise<void>;
  /** The file to write exactly the expected bytes to, without passing them through here. */
  readonly file?: SinkFile | undefined;
}

/** A place in a file that a thread writes an answer to. */
export interface SinkFile extends FilePlace {
  readonly onBytes: (bytes: number) => void;
  /** Called when the whole answer is in the file, with the checksums of its parts. */
  readonly onDone: (sums: readonly string[]) => void;
}

/** The answer to a request. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body; empty when a sink took it. */
  readonly body: Buffer;
}

/** Sends requests, each within a deadline. */
export interface HttpClient {
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;
}

/** How long a request may take. */
export interface Deadlines {
  /** The connection counts as dead after this time without a byte in either direction. */
  readonly idleMs: number;
  /** The time for a request that moves almost nothing. */
  readonly baseMs: number;
  /** The slowest rate that still meets the deadline. */
  readonly slowestBytesPerSecond: number;
}

const DEFAULT_DEADLINES: Deadlines = { idleMs: 30_000, baseMs: 60_000, slowestBytesPerSecond: 8 * 1024 };

const MAX_BODY = 1024 * 1024;

/** Makes a client that sends over the given routes. */
export function createHttpClient(routes: Routes, clock: Clock, deadlines: Deadlines = DEFAULT_DEADLINES): HttpClient {
  return {
    async send(request, signal) {
      signal.throwIfAborted();
      const stop = new AbortController();
      const either = AbortSignal.any([signal, stop.signal]);
      const expected = bodySize(request.body) + (request.expectedBytes ?? 0);
      const deadline = request.deadlineMs ?? deadlines.baseMs + (expected / deadlines.slowestBytesPerSecond) * 1000;
      const over = clock.sleep(deadline, { signal: either }).then(
        () => stop.abort(timedOut('the deadline of the request is over')),
        () => undefined,
      );
      try {
        const arrived = { bytes: 0, isHeld: false };
        const how = { routes, idleMs: deadlines.idleMs, signal: either, arrived };
        const direct = await readDirectly(request, how);
        if (direct !== null) return direct;
        const onAnswer = (): void => {
          void untilDrips({ clock, idleMs: deadlines.idleMs, signal: either }, () => arrived).then(
            () => stop.abort(timedOut(`the answer is too slow: only ${arrived.bytes} bytes arrived so far`)),
            () => undefined,
          );
        };
        return await exchange(request, { ...how, onAnswer });
      } catch (thrown) {
        signal.throwIfAborted();
        throw asFailure(stop.signal.aborted ? stop.signal.reason : thrown, request.origin);
      } finally {
        stop.abort();
        await over;
      }
    },
  };
}

interface Exchange {
  readonly routes: Routes;
  readonly idleMs: number;
  readonly signal: AbortSignal;
  /** Counts the bytes of the answer so far. */
  readonly arrived: { bytes: number; isHeld: boolean };
}

async function exchange(
  request: HttpRequest,
  { routes, idleMs, signal, arrived, onAnswer }: Exchange & { readonly onAnswer: () => void },
): Promise<HttpResponse> {
  const { method, origin, path, headers, body } = request;
  const { agent, proxy } = routes.to(origin);
  const via = proxy ?? origin;
  const sent = (via.protocol === 'https:' ? https : http).request({
    method,
    agent,
    host: via.host,
    port: via.port,
    path: proxy === null ? path : `http://${hostHeader(origin)}${path}`,
    headers: {
      host: hostHeader(origin),
      ...headers,
      ...(body !== undefined || method === 'PUT' || method === 'POST' ? { 'content-length': String(bodySize(body)) } : {}),
      ...(proxy?.authorization == null ? {} : { 'proxy-authorization': proxy.authorization }),
    },
    setDefaultHeaders: false,
    signal,
  });
  sent.setTimeout(idleMs, () => sent.destroy(timedOut(`no byte arrived for ${idleMs / 1000} s`)));
  sent.setHeader('connection', 'keep-alive');
  let hasAnswer = false;
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', (response) => {
      hasAnswer = true;
      resolve(response);
    });
    sent.once('error', reject);
  });
  // A store may refuse before it has the whole body. Its answer counts, not the broken pipe that
  // follows.
  const sending = sendBody(sent, body, signal).catch((thrown: unknown) => {
    if (!hasAnswer) sent.destroy(toError(thrown));
    throw thrown;
  });
  sending.catch(() => {});
  let response: IncomingMessage;
  try {
    response = await answered;
  } catch (thrown) {
    sent.destroy();
    // A failure of the file is the cause, and the broken request only its consequence.
    await sending;
    throw thrown;
  }
  sent.on('error', () => {});
  onAnswer();
  const result = await receive(response, request, arrived);
  if (result.status < 300) await sending;
  else if (!sent.writableFinished) sent.destroy();
  return result;
}

/** Reads straight into the sink's file; null when that is impossible, with the sink untouched. */
async function readDirectly(request: HttpRequest, { routes, idleMs, signal }: Exchange): Promise<HttpResponse | null> {
  const { method, origin, path, headers, sink, expectedBytes: size } = request;
  if (sink?.file === undefined || size === undefined || method !== 'GET' || !routes.to(origin).isDirect) return null;
  const { onBytes, onDone, ...place } = sink.file;
  const sums = await routes.ranges.get({ origin, path, headers, size, ...place }, { idleMs, signal, onBytes });
  if (sums === null) return null;
  onDone(sums);
  return { status: 206, headers: {}, body: Buffer.alloc(0) };
}

async function receive(
  response: IncomingMessage,
  { sink, maxBytes = MAX_BODY, method }: HttpRequest,
  arrived: Exchange['arrived'],
): Promise<HttpResponse> {
  const { headers } = response;
  const status = response.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let length = 0;
  const isTaken = sink !== undefined && status >= 200 && status < 300;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      arrived.bytes = length;
      arrived.isHeld = true;
      if (isTaken) await sink.write(chunk);
      else if (length <= (status < 300 ? maxBytes : MAX_BODY)) chunks.push(chunk);
      else
        throw new RequestFailure({
          message: `the answer is longer than ${maxBytes} bytes`,
          reason: TOO_LONG,
          status,
          isTransient: false,
        });
      arrived.isHeld = false;
    }
  } catch (thrown) {
    response.destroy();
    throw thrown;
  }
  const promised = headers['content-length'];
  if (method !== 'HEAD' && promised !== undefined && Number(promised) !== length) {
    throw new RequestFailure({
      message: `the answer ended after ${length} of ${promised} bytes`,
      reason: 'ANSWER_CUT',
      status,
      isTransient: true,
    });
  }
  return { status, headers, body: Buffer.concat(chunks) };
}

function timedOut(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' });
}

/** Certificate failures are permanent. Any other failure of a connection may pass. */
const LASTING =
  /^(CERT_|ERR_TLS|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO|ERR_SSL|ERR_INVALID|PROXY_REFUSED|ERR_UNESCAPED)/;

/** Codes of Holdfast's own messages, which hold no secrets. */
const OWN_WORDS = new Set(['ETIMEDOUT', 'PROXY_REFUSED']);

function asFailure(thrown: unknown, origin: Origin): Error {
  if (thrown instanceof RequestFailure || thrown instanceof HoldfastError) return thrown;
  const error = toError(thrown);
  const code = systemCode(thrown);
  // The network cannot fix an error without a code, or one of the local file.
  if (code === null || ['EIO', 'ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS', 'ESTALE', 'EBADF', 'EACCES'].includes(code)) return error;
  return new RequestFailure({
    message: `${hostHeader(origin)}: ${code}${OWN_WORDS.has(code) ? ` (${error.message})` : ''}`,
    reason: code,
    isTransient: !LASTING.test(code),
    cause: error,
  });
}
