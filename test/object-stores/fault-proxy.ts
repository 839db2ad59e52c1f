import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** A fault of one exchange. */
export type Fault =
  /** The connection breaks after this many bytes of the request. */
  | { readonly kind: 'reset-request'; readonly after: number }
  /** The store gets the whole request, but the answer never arrives. */
  | { readonly kind: 'lose-response' }
  /** The answer ends early. */
  | { readonly kind: 'cut-response'; readonly after: number }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: number }
  /** The proxy answers instead of the store. */
  | { readonly kind: 'answer'; readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: string }
  | { readonly kind: 'slow'; readonly bytesPerSecond: number }
  /** One byte of the request's or the answer's body changes. */
  | { readonly kind: 'flip-request' }
  | { readonly kind: 'flip-response' }
  /** The store reports a wrong checksum. */
  | { readonly kind: 'wrong-checksum' }
  /** The answer has this date; with null it has none. */
  | { readonly kind: 'date'; readonly date: Date | null };

/** A request that the proxy has seen. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The number of requests before it. */
  readonly index: number;
}

/** A proxy that injects faults. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** The number of injected faults. */
  readonly faults: number;
}

/**
 * Starts a proxy between a client and a store that injects the faults of real networks and stores.
 */
export async function startFaultProxy(targetPort: number, decide: (seen: SeenRequest) => Fault | null): Promise<FaultProxy> {
  const requests: SeenRequest[] = [];
  const state = { faults: 0 };
  const sessions = new ResumableSessions();
  const server = createServer((incoming, outgoing) => {
    const seen = { method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers, index: requests.length };
    requests.push(seen);
    const fault = decide(seen);
    if (fault !== null) state.faults++;
    if (fault === null && sessions.answer(seen, outgoing)) return;
    const port = (server.address() as AddressInfo).port;
    // Keep the socket now: a message that has ended releases it.
    const { socket } = incoming;
    forward(incoming, outgoing, { targetPort, port, fault, sessions, socket }).catch(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get faults() {
      return state.faults;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Way {
  readonly targetPort: number;
  readonly port: number;
  readonly fault: Fault | null;
  readonly sessions: ResumableSessions;
  readonly socket: Socket;
}

async function forward(incoming: IncomingMessage, outgoing: ServerResponse, way: Way): Promise<void> {
  const { targetPort, fault, sessions, socket } = way;
  if (fault?.kind === 'status') return refuse(incoming, outgoing, fault);
  if (fault?.kind === 'answer') {
    for await (const chunk of incoming) void chunk;
    outgoing.writeHead(fault.status, { ...fault.headers }).end(fault.body);
    return;
  }
  const { method, url: path, headers } = incoming;
  // Keep the host that the client named, because the signature covers it.
  const onward = request({ host: '127.0.0.1', port: targetPort, method, path, headers, agent: false });
  const answered = new Promise<IncomingMessage>((resolve, reject) => onward.once('response', resolve).once('error', reject));
  answered.catch(() => {});
  if (!(await sendOn(incoming, onward, fault))) {
    onward.destroy();
    socket.resetAndDestroy();
    return;
  }
  const response = await answered;
  // Record what the store has taken, whether or not its answer arrives.
  sessions.watch(incoming, response);
  if (fault?.kind === 'lose-response') {
    for await (const chunk of response) void chunk;
    socket.resetAndDestroy();
    return;
  }
  await answer(response, outgoing, way);
}

async function refuse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, retryAfter }: Fault & { kind: 'status' },
): Promise<void> {
  for await (const chunk of incoming) void chunk;
  outgoing.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) });
  outgoing.end('<Error><Code>SlowDown</Code><Message>please reduce your request rate</Message></Error>');
}

/** Passes the request on; false when the connection must break. */
async function sendOn(incoming: IncomingMessage, onward: ClientRequest, fault: Fault | null): Promise<boolean> {
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    if (fault?.kind === 'reset-request' && bytes + chunk.length > fault.after) return false;
    if (fault?.kind === 'flip-request' && bytes === 0) flip(chunk);
    await slowly(chunk, fault);
    bytes += chunk.length;
    // A store that has read enough answers and closes; the code below waits for that answer.
    if (!(await writeOn(onward, chunk))) return true;
  }
  onward.end();
  return fault?.kind !== 'reset-request';
}

function answerHeaders(response: IncomingMessage, { targetPort, port, fault }: Way): IncomingMessage['headers'] {
  const headers = { ...response.headers };
  // Route the address of an upload in progress through this proxy, too.
  if (headers.location !== undefined) headers.location = headers.location.replace(`:${targetPort}/`, `:${port}/`);
  if (fault?.kind === 'date') {
    delete headers.date;
    return fault.date === null ? headers : { ...headers, date: fault.date.toUTCString() };
  }
  const isTold = headers['x-amz-checksum-crc32c'] !== undefined;
  return fault?.kind === 'wrong-checksum' && isTold ? { ...headers, 'x-amz-checksum-crc32c': 'AAAAAA==' } : headers;
}

async function answer(response: IncomingMessage, outgoing: ServerResponse, way: Way): Promise<void> {
  const { fault } = way;
  outgoing.sendDate = false;
  outgoing.writeHead(response.statusCode ?? 500, answerHeaders(response, way));
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (fault?.kind === 'cut-response' && bytes + chunk.length > fault.after) {
      outgoing.write(chunk.subarray(0, fault.after - bytes), () => outgoing.socket?.destroy());
      return;
    }
    if (fault?.kind === 'flip-response' && bytes === 0) flip(chunk);
    await slowly(chunk, fault);
    bytes += chunk.length;
    const part = fault?.kind === 'wrong-checksum' ? otherChecksum(chunk) : chunk;
    if (!(await writeOn(outgoing, part))) return;
  }
  outgoing.end();
}

/** Writes a chunk; false when the receiver has gone. */
async function writeOn(stream: Writable, chunk: Buffer): Promise<boolean> {
  if (stream.destroyed) return false;
  if (stream.write(chunk)) return true;
  return new Promise((resolve) => {
    const done = (isOpen: boolean) => () => {
      stream.off('drain', drained).off('close', closed);
      resolve(isOpen);
    };
    const [drained, closed] = [done(true), done(false)];
    stream.on('drain', drained).on('close', closed);
  });
}

function flip(chunk: Buffer): void {
  const at = chunk.length >> 1;
  if (chunk.length > 0) chunk[at] = (chunk[at] as number) ^ 1;
}

/** The length stays the same, because every checksum has eight characters. */
function otherChecksum(chunk: Buffer): Buffer {
  return Buffer.from(chunk.toString('latin1').replace(/("crc32c":\s*")[^"]{8}"/, '$1AAAAAA=="'), 'latin1');
}

async function slowly(chunk: Buffer, fault: Fault | null): Promise<void> {
  if (fault?.kind === 'slow') await sleep((chunk.length * 1000) / fault.bytesPerSecond);
}

/**
 * Answers the status request of an upload as Google does, from the bytes that the server has
 * acknowledged. fake-gcs-server takes that request for the end of the upload, so tests could not
 * resume one.
 */
class ResumableSessions {
  readonly #reached = new Map<string, string | null>();

  answer({ method, path, headers }: SeenRequest, outgoing: ServerResponse): boolean {
    const id = sessionOf(path);
    if (method !== 'PUT' || id === null || !(headers['content-range'] ?? '').startsWith('bytes */')) return false;
    if (!this.#reached.has(id)) return false;
    const range = this.#reached.get(id) ?? null;
    outgoing.writeHead(308, { 'content-length': '0', ...(range === null ? {} : { range }) });
    outgoing.end();
    return true;
  }

  watch({ method, url }: IncomingMessage, response: IncomingMessage): void {
    const begun = sessionOf(response.headers.location ?? '');
    if (method === 'POST' && begun !== null) this.#reached.set(begun, null);
    const id = sessionOf(url ?? '');
    if (method !== 'PUT' || id === null) return;
    if (response.statusCode === 308) this.#reached.set(id, response.headers['range'] ?? null);
    // Finished: from here on the server answers itself.
    else this.#reached.delete(id);
  }
}

function sessionOf(path: string): string | null {
  return /[?&]upload_id=([^&]+)/.exec(path)?.[1] ?? null;
}
