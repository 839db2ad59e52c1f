import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { parseJsonObject } from './fields.ts';
import { RequestError } from './request-error.ts';

/** A client that sends nothing for this long is gone. */
const SILENCE_MS = 30_000;
/** A request that is no stream of lines must be whole in this time, however busily it trickles. */
const WHOLE_MS = 60_000;
const LINE_END = 10;

/** The pieces of a body, each within the time a living client needs. */
export async function* bodyPieces(request: IncomingMessage, clock: Clock): AsyncGenerator<Buffer> {
  const guard = new AbortController();
  let heard = clock.monotonic();
  void watchSilence(request, clock, { since: () => heard, signal: guard.signal });
  try {
    for await (const piece of request) {
      heard = clock.monotonic();
      yield piece as Buffer;
    }
  } finally {
    guard.abort();
  }
}

/**
 * The pieces of a body of lines whose client may be silent between two lines for as long as it
 * likes. Each line must be whole in time.
 */
export async function* linePieces(request: IncomingMessage, clock: Clock): AsyncGenerator<Buffer> {
  const guard = new AbortController();
  let begun: number | null = null;
  void watchLine(request, clock, { since: () => begun, signal: guard.signal });
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      begun = piece.at(-1) === LINE_END ? null : piece.includes(LINE_END) ? clock.monotonic() : (begun ?? clock.monotonic());
      yield piece;
    }
  } finally {
    guard.abort();
  }
}

/** Reads a body of one JSON object, of bounded size, in bounded time. */
export async function readJson(request: IncomingMessage, most: number, clock: Clock): Promise<Readonly<Record<string, unknown>>> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > most) throw new RequestError(413, `the body has ${declared} bytes; at most ${most} are taken`);
  return parseJsonObject((await wholeBody(request, most, clock)).toString());
}

/**
 * Reads a body as one piece. Almost every body has arrived with its headers. Only one that has not
 * needs a watch.
 */
function wholeBody(request: IncomingMessage, most: number, clock: Clock): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const started = clock.monotonic();
  const pieces: Buffer[] = [];
  let [size, heard] = [0, started];
  let hasEnded = false;
  let watch: AbortController | null = null;
  const end = (): void => {
    hasEnded = true;
    watch?.abort();
    request.off('data', take);
  };
  const fail = (error: Error): void => {
    end();
    reject(error);
  };
  const take = (piece: Buffer): void => {
    heard = clock.monotonic();
    size += piece.length;
    pieces.push(piece);
    if (size > most) fail(new RequestError(413, `the body has more than ${most} bytes`));
    else if (heard - started > WHOLE_MS) fail(new RequestError(408, `the body was not whole after ${WHOLE_MS / 1000} s`));
  };
  request.on('data', take);
  request.once('end', () => {
    end();
    resolve(pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces));
  });
  request.once('error', fail);
  request.once('close', () => fail(new Error('the client disconnected')));
  setImmediate(() => {
    if (hasEnded) return;
    watch = new AbortController();
    void watchSilence(request, clock, { since: () => heard, signal: watch.signal });
  });
  return promise;
}

/** Ends a request whose client sends nothing for too long, until the signal is aborted. */
async function watchSilence(
  request: IncomingMessage,
  clock: Clock,
  { since, signal }: { readonly since: () => number; readonly signal: AbortSignal },
): Promise<void> {
  try {
    while (!signal.aborted) {
      await clock.sleep(SILENCE_MS / 3, { signal });
      if (clock.monotonic() - since() > SILENCE_MS) request.destroy(new RequestError(408, `the body stopped for ${SILENCE_MS / 1000} s`));
    }
  } catch {
    // The body is whole, or the client disconnected.
  }
}

/** Ends a request with a line that is not whole in time, until the signal is aborted. */
async function watchLine(
  request: IncomingMessage,
  clock: Clock,
  { since, signal }: { readonly since: () => number | null; readonly signal: AbortSignal },
): Promise<void> {
  try {
    while (!signal.aborted) {
      await clock.sleep(SILENCE_MS / 3, { signal });
      const begun = since();
      if (begun !== null && clock.monotonic() - begun > WHOLE_MS)
        request.destroy(new RequestError(408, `a line was not whole after ${WHOLE_MS / 1000} s`));
    }
  } catch {
    // The body has ended, or the client disconnected.
  }
}
