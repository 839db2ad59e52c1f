import { nonsense } from './trouble.ts';

/** An HTTP answer of a metadata service. */
export interface Answer {
  readonly status: number;
  /** Headers by lower-case name; of a repeated name the first counts. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The size limit: real answers have some hundred bytes. */
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Parses the bytes of an HTTP/1.1 answer received so far; null: the answer is incomplete. Throws a
 * MetadataTrouble when it is invalid or too long. `isEnded`: the connection has ended.
 */
export function readAnswer(bytes: Buffer, isEnded: boolean): Answer | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1 || end > MAX_HEAD_BYTES) {
    if (end !== -1 || bytes.length > MAX_HEAD_BYTES) throw nonsense(`a head of more than ${MAX_HEAD_BYTES} bytes`);
    if (isEnded) throw nonsense('it is empty');
    return null;
  }
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.[01] ([2-5]\d\d)(?: |$)/.exec(first)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) throw nonsense('not HTTP');
  const headers = readHeaders(lines);
  const body = readBody(bytes.subarray(end + 4), headers, isEnded);
  return body === null ? null : { status, headers, body };
}

function readHeaders(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === '') throw nonsense('an invalid header');
    if (!headers.has(name.toLowerCase())) headers.set(name.toLowerCase(), value);
  }
  return headers;
}

function readBody(rest: Buffer, headers: ReadonlyMap<string, string>, isEnded: boolean): string | null {
  const coding = headers.get('transfer-encoding');
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') throw nonsense('an unknown transfer encoding');
    return readChunks(rest, isEnded);
  }
  const told = headers.get('content-length');
  if (told !== undefined && !/^\d{1,15}$/.test(told)) throw nonsense('an invalid length');
  const length = told === undefined ? null : Number(told);
  if (rest.length > MAX_BODY_BYTES || (length ?? 0) > MAX_BODY_BYTES) throw tooLong();
  if (length === null) return isEnded ? rest.toString('utf8') : null;
  if (rest.length >= length) return rest.toString('utf8', 0, length);
  if (isEnded) throw nonsense('it ends too early');
  return null;
}

function readChunks(rest: Buffer, isEnded: boolean): string | null {
  // Chunk sizes take room too; an answer whose framing exceeds its content by this much is hostile.
  if (rest.length > 2 * MAX_BODY_BYTES) throw tooLong();
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let at = 0; ; ) {
    const end = rest.indexOf('\r\n', at);
    if (end === -1) break;
    const size = /^([0-9a-f]{1,8})(?:[ \t]*;.*)?$/i.exec(rest.toString('latin1', at, end))?.[1];
    if (size === undefined) throw nonsense('a chunk without a size');
    const length = Number.parseInt(size, 16);
    if (length === 0) return Buffer.concat(pieces).toString('utf8');
    bytes += length;
    if (bytes > MAX_BODY_BYTES) throw tooLong();
    if (rest.length < end + 2 + length + 2) break;
    pieces.push(rest.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
  if (isEnded) throw nonsense('it ends too early');
  return null;
}

function tooLong(): Error {
  return nonsense(`more than ${MAX_BODY_BYTES} bytes`);
}
