import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Clock } from '../../../core/clock.ts';
import { HoldfastError, systemCode, toError } from '../../../core/errors.ts';
import { RequestFailure } from '../failure.ts';
import { type Body, bodySize, sendBody } from './body.ts';
import type { Routes } from './connect.ts';
import { hostHeader, type Origin } from './origin.ts';
import type { FilePlace } from './ranges/messages.ts';
import { http, https } from './runtime-http.ts';

export interface HttpRequest {
  readonly method: string;
  readonly origin: Origin;
  /** Path and query, encoded as they go over the wire. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Body;
  /** Takes the bytes of a successful answer as they come; without one they are collected. */
  readonly sink?: BodySink;
  /** Most bytes of an answer that is collected. */
  readonly maxBytes?: number;
  /** Bytes that are expected to move in either direction; the deadline grows with them. */
  readonly expectedBytes?: number;
  /** Instead of the usual deadline. */
  readonly deadlineMs?: number;
}

export interface BodySink {
  write(bytes: Buffer): Promise<void>;
  /** The file that exactly the expected bytes can be written to without passing through here. */
  readonly file?: SinkFile | undefined;
}

export interface SinkFile extends FilePlace {
  readonly onBytes: (bytes: number) => void;
  /** All of it is in the file; these are the checksums of its parts. */
  readonly onDone: (sums: readonly string[]) => void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Empty when a sink took it. */
  readonly body: Buffer;
}

export interface HttpClient {
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;
}

export interface Deadlines {
  /** Without a byte in either direction the connection is taken for dead. */
  readonly idleMs: number;
  /** For a request that moves next to nothing. */
  readonly baseMs: number;
  /** The slowest link that is still waited for. */
  readonly slowestBytesPerSecond: number;
}

const DEFAULT_DEADLINES: Deadlines = { idleMs: 30_000, baseMs: 60_000, slowestBytesPerSecond: 8 * 1024 };

const MAX_BODY = 1024 * 1024;

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
        const how = { routes, idleMs: deadlines.idleMs, signal: either };
        return (await readDirectly(request, how)) ?? (await exchange(request, how));
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
}

async function exchange(request: HttpRequest, { routes, idleMs, signal }: Exchange): Promise<HttpResponse> {
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
  sent.setTimeout(idleMs, () => sent.destroy(timedOut(`nothing came for ${idleMs / 1000} s`)));
  sent.setHeader('connection', 'keep-alive');
  let hasAnswer = false;
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', (response) => {
      hasAnswer = true;
      resolve(response);
    });
    sent.once('error', reject);
  });
  // A store may refuse before the whole body has left; what it says then counts, not the broken pipe that follows.
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
    // The file's own failure is the cause, the broken request only its consequence.
    await sending;
    throw thrown;
  }
  sent.on('error', () => {});
  const result = await receive(response, request);
  if (result.status < 300) await sending;
  else if (!sent.writableFinished) sent.destroy();
  return result;
}

/** Null when it cannot be done this way; nothing has been put into the sink then. */
async function readDirectly(request: HttpRequest, { routes, ...options }: Exchange): Promise<HttpResponse | null> {
  const { method, origin, path, headers, sink, expectedBytes: size } = request;
  if (sink?.file === undefined || size === undefined || method !== 'GET' || !routes.to(origin).isDirect) return null;
  const { onBytes, onDone, ...place } = sink.file;
  const sums = await routes.ranges.get({ origin, path, headers, size, ...place }, { ...options, onBytes });
  if (sums === null) return null;
  onDone(sums);
  return { status: 206, headers: {}, body: Buffer.alloc(0) };
}

async function receive(response: IncomingMessage, { sink, maxBytes = MAX_BODY, method }: HttpRequest): Promise<HttpResponse> {
  const { headers } = response;
  const status = response.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let length = 0;
  const isTaken = sink !== undefined && status >= 200 && status < 300;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (isTaken) await sink.write(chunk);
      else if (length <= (status < 300 ? maxBytes : MAX_BODY)) chunks.push(chunk);
      else
        throw new RequestFailure({
          message: `the answer is longer than ${maxBytes} bytes`,
          reason: 'ANSWER_TOO_LONG',
          status,
          isTransient: false,
        });
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

/** Failures of certificates do not pass by themselves; everything else about a connection may. */
const LASTING =
  /^(CERT_|ERR_TLS|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO|ERR_SSL|ERR_INVALID|PROXY_REFUSED|ERR_UNESCAPED)/;

/** Codes whose message is ours, and so holds nothing that must not be told. */
const OWN_WORDS = new Set(['ETIMEDOUT', 'PROXY_REFUSED']);

function asFailure(thrown: unknown, origin: Origin): Error {
  if (thrown instanceof RequestFailure || thrown instanceof HoldfastError) return thrown;
  const error = toError(thrown);
  const code = systemCode(thrown);
  // An error without a code, or of the local file, is nothing the network can mend.
  if (code === null || ['EIO', 'ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS', 'ESTALE', 'EBADF', 'EACCES'].includes(code)) return error;
  return new RequestFailure({
    message: `${hostHeader(origin)}: ${code}${OWN_WORDS.has(code) ? ` (${error.message})` : ''}`,
    reason: code,
    isTransient: !LASTING.test(code),
    cause: error,
  });
}
