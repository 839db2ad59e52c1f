import { nonsense } from './trouble.ts';

export interface Answer {
  readonly status: number;
  /** By name in small letters; of a name that comes twice the first. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Real answers have some hundred bytes. */
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Reads what came so far of an answer in HTTP/1.1; null: there is more to come. Throws a MetadataTrouble when it is none, or too much.
 * `isEnded`: nothing more will come.
 */
export function readAnswer(bytes: Buffer, isEnded: boolean): Answer | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1 || end > MAX_HEAD_BYTES) {
    if (end !== -1 || bytes.length > MAX_HEAD_BYTES) throw nonsense(`a head of more than ${MAX_HEAD_BYTES} bytes`);
    if (isEnded) throw nonsense('it ends before it has begun');
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
    if (name === '') throw nonsense('a header that is none');
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
  if (told !== undefined && !/^\d{1,15}$/.test(told)) throw nonsense('a length that is none');
  const length = told === undefined ? null : Number(told);
  if (rest.length > MAX_BODY_BYTES || (length ?? 0) > MAX_BODY_BYTES) throw tooLong();
  if (length === null) return isEnded ? rest.toString('utf8') : null;
  if (rest.length >= length) return rest.toString('utf8', 0, length);
  if (isEnded) throw nonsense('it ends too early');
  return null;
}

function readChunks(rest: Buffer, isEnded: boolean): string | null {
  // The sizes take room too; what is that much longer than its content is not meant to be read.
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
