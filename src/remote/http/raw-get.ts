import * as net from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { realClock } from '../../core/clock.ts';
import { untilDrips } from './drip-watch.ts';
import { hostHeader, type Origin } from './origin.ts';

/** Takes the bytes of an answer in their final place. */
export interface DirectSink {
  /** Returns the memory for the next bytes; never empty before the last byte. */
  room(): Buffer;
  /**
   * Reports how many bytes are in the last room. The reader writes nothing more before the returned
   * promise resolves.
   */
  filled(count: number): Promise<void> | null;
}

/** A request for exactly one range. */
export interface RawGet {
  readonly origin: Origin;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The exact length of the answer; any other length is refused. */
  readonly size: number;
  readonly sink: DirectSink;
}

/** The limits of a raw request. */
export interface RawOptions {
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/** Answers with a longer head go to the ordinary client. */
const HEAD_BYTES = 32 * 1024;

/**
 * Reads large answers straight into the caller's memory. The runtime's client allocates, copies and
 * frees memory for every 64 KiB. For bytes that only pass through, this is most of their cost.
 */
export class RawConnections {
  readonly #ca: readonly string[] | null;
  readonly #idle = new Map<string, Connection[]>();

  constructor(ca: readonly string[] | null) {
    this.#ca = ca;
  }

  /**
   * Reads an answer; false when it is not the expected plain one. The caller then asks again with a
   * full HTTP client.
   */
  async get(request: RawGet, options: RawOptions): Promise<boolean> {
    const head = formatHead(request);
    if (head === null) return false;
    const name = hostHeader(request.origin);
    const idle = this.#idle.get(name) ?? [];
    this.#idle.set(name, idle);
    let connection = idle.pop();
    while (connection?.isReusable === false) connection = idle.pop();
    connection ??= new Connection(request.origin, this.#ca);
    const isWhole = await connection.exchange(head, request, options);
    if (isWhole && connection.isReusable) idle.push(connection);
    else connection.destroy();
    return isWhole;
  }

  close(): void {
    for (const connections of this.#idle.values()) for (const connection of connections) connection.destroy();
    this.#idle.clear();
  }
}

/** Formats the head of a request; null when a part of it could break a line. */
function formatHead({ path, headers, origin }: RawGet): string | null {
  const lines = Object.entries({ host: hostHeader(origin), ...headers, connection: 'keep-alive' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const all = [`GET ${path} HTTP/1.1`, ...lines];
  return all.every((line) => /^[\x20-\x7e]+$/.test(line)) ? `${all.join('\r\n')}\r\n\r\n` : null;
}

/** Loads TLS on demand: it takes as long as the rest of a thread. */
function secureConnect(options: ConnectionOptions): net.Socket {
  return process.getBuiltinModule('node:tls').connect(options);
}

/** The request in progress on a connection. */
interface Exchange {
  readonly sink: DirectSink;
  readonly size: number;
  readonly end: (outcome: boolean | Error) => void;
  /** The bytes of the body still to come; null before the head is complete. */
  left: number | null;
}

/** A connection that reads one answer at a time. */
class Connection {
  readonly #socket: net.Socket;
  readonly #head = Buffer.allocUnsafeSlow(HEAD_BYTES);
  #headLength = 0;
  /** Whether the server closes the connection after this answer. */
  #isLast = false;
  #current: Exchange | null = null;

  constructor({ protocol, host, port }: Origin, ca: readonly string[] | null) {
    const onread = { buffer: () => this.#room(), callback: (count: number) => this.#read(count) };
    const options = { host, port, noDelay: true, onread };
    const secure = { ...options, servername: net.isIP(host) === 0 ? host : '', ...(ca === null ? {} : { ca: [...ca] }) };
    this.#socket = protocol === 'https:' ? secureConnect(secure) : net.connect(options as net.TcpNetConnectOpts);
    this.#socket.on('error', (error) => this.#current?.end(error));
    this.#socket.on('timeout', () => this.#socket.destroy(Object.assign(new Error('no byte arrived for a while'), { code: 'ETIMEDOUT' })));
    this.#socket.on('close', () => this.#current?.end(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' })));
  }

  get isReusable(): boolean {
    return !this.#isLast && !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  async exchange(head: string, { size, sink }: RawGet, { idleMs, signal }: RawOptions): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const abort = (): void => void this.#socket.destroy(signal.reason as Error);
    this.#headLength = 0;
    this.#current = { sink, size, left: null, end: (outcome) => (typeof outcome === 'boolean' ? resolve(outcome) : reject(outcome)) };
    signal.addEventListener('abort', abort, { once: true });
    const over = new AbortController();
    this.#endDrips(idleMs, over.signal);
    this.#socket.setTimeout(idleMs);
    try {
      signal.throwIfAborted();
      this.#socket.write(head);
      return await promise;
    } catch (thrown) {
      this.destroy();
      throw thrown;
    } finally {
      over.abort();
      this.#current = null;
      this.#socket.setTimeout(0);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends a dripping answer: single bytes keep the socket from timing out. */
  #endDrips(idleMs: number, signal: AbortSignal): void {
    const look = () => ({ bytes: this.#socket.bytesRead, isHeld: this.#socket.isPaused() });
    untilDrips({ clock: realClock, idleMs, signal }, look).then(
      () => this.#socket.destroy(Object.assign(new Error('the answer is too slow'), { code: 'ETIMEDOUT' })),
      () => undefined,
    );
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #room(): Buffer {
    const current = this.#current;
    if (current === null || current.left === null || current.left === 0) return this.#head.subarray(this.#headLength);
    const room = current.sink.room();
    // Never takes more than this answer has left.
    return room.length > current.left ? room.subarray(0, current.left) : room;
  }

  /** Handles received bytes; false pauses the connection. */
  #read(count: number): boolean {
    const current = this.#current;
    if (current === null || current.left === 0) {
      // These bytes answer no request.
      this.destroy();
      return false;
    }
    if (current.left === null) return this.#readHead(current, count);
    return this.#took(current, count);
  }

  #took(current: Exchange, count: number): boolean {
    current.left = (current.left ?? 0) - count;
    const wait = current.sink.filled(count);
    const isWhole = current.left === 0;
    if (wait === null) {
      if (isWhole) current.end(true);
      return true;
    }
    void this.#resumeAfter(wait, current, isWhole);
    return false;
  }

  async #resumeAfter(wait: Promise<void>, current: Exchange, isWhole: boolean): Promise<void> {
    try {
      await wait;
      if (isWhole) current.end(true);
      this.#socket.resume();
    } catch (thrown) {
      current.end(thrown as Error);
    }
  }

  #readHead(current: Exchange, count: number): boolean {
    this.#headLength += count;
    const end = this.#head.subarray(0, this.#headLength).indexOf('\r\n\r\n');
    if (end < 0) {
      if (this.#headLength < HEAD_BYTES) return true;
      current.end(false);
      return false;
    }
    const { length, isLast } = readHead(this.#head.toString('latin1', 0, end));
    this.#isLast = isLast;
    const body = this.#head.subarray(end + 4, this.#headLength);
    const room = current.sink.room();
    if (length !== current.size || body.length > Math.min(length, room.length)) {
      current.end(false);
      return false;
    }
    this.#headLength = 0;
    current.left = length;
    // Only bytes that arrived together with the head are ever copied.
    return body.length === 0 || this.#took(current, body.copy(room));
  }
}

/** Reads the head of an answer. Its length is null unless it is a plain success. */
function readHead(head: string): { readonly length: number | null; readonly isLast: boolean } {
  const [status = '', ...lines] = head.split('\r\n');
  const fields = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]));
  const length = fields.get('content-length') ?? '';
  const isPlain = /^HTTP\/1\.1 20[06] /.test(`${status} `) && !fields.has('transfer-encoding') && !fields.has('content-encoding');
  return {
    length: isPlain && /^\d{1,15}$/.test(length) ? Number(length) : null,
    isLast: fields.get('connection')?.toLowerCase() === 'close',
  };
}
