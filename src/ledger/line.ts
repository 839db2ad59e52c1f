import { crc32c, hex32 } from '../core/checksums.ts';
import { EVENT_KINDS, type EventKind, type LedgerEvent, type Recorded } from './events.ts';
import { hasFields, isRecord } from './field-types.ts';

/**
 * One line of the ledger: a JSON object whose first field is the crc32c of everything after it, up
 * to the closing brace. Any tool that reads JSON lines can read it. The checksum of a torn line, or
 * of a mixture from two writers, does not match.
 */
const VERSION = 1;
const PREFIX = '{"crc32c":"';
const PREFIX_LENGTH = PREFIX.length + 8 + 2;

/** The longest line that is written or read. */
export const MAX_LINE_BYTES = 64 * 1024;

/**
 * Encodes an event as a line, with its newline. It cuts texts that would make the line too long.
 */
export function encodeLine({ attempt, node, seq, atMs, event }: Recorded<LedgerEvent>): Buffer {
  const { kind, ...fields } = event;
  for (const most of [Infinity, 2000, 200, 20]) {
    const short = (_: string, value: unknown): unknown => cut(value, most);
    const rest = JSON.stringify({ v: VERSION, attempt, node, seq, atMs, kind, ...fields }, short).slice(1);
    if (Buffer.byteLength(rest) > MAX_LINE_BYTES - PREFIX_LENGTH - 1) continue;
    return Buffer.from(`${PREFIX}${hex32(crc32c(Buffer.from(rest)))}",${rest}\n`);
  }
  throw new RangeError('an event of cut texts fits into a line');
}

/** Replaces unpaired surrogates, so that the bytes decode to the text that was checksummed. */
function cut(value: unknown, most: number): unknown {
  if (typeof value === 'string') return (value.length > most ? `${value.slice(0, most)}…` : value).toWellFormed();
  return Array.isArray(value) && value.length > most ? value.slice(0, most) : value;
}

/**
 * Decodes a line (without its newline); null when it is damaged. Unknown kinds and versions are
 * kept as they are.
 */
export function decodeLine(line: Buffer): Recorded | null {
  if (line.length > MAX_LINE_BYTES || line.length < PREFIX_LENGTH || !isIntact(line)) return null;
  let value: unknown;
  try {
    value = JSON.parse(line.toString('utf8'));
  } catch {
    return null;
  }
  return isRecord(value) ? recordedOf(value) : null;
}

function recordedOf(value: Readonly<Record<string, unknown>>): Recorded | null {
  const { crc32c: _, v, attempt, node, seq, atMs, kind, ...fields } = value;
  if (!isCount(attempt) || !isCount(seq) || !isInstant(atMs) || typeof node !== 'string' || typeof kind !== 'string') return null;
  const isKnown = v === VERSION && Object.hasOwn(EVENT_KINDS, kind) && hasFields(fields, EVENT_KINDS[kind as EventKind]);
  const event = isKnown ? ({ ...fields, kind } as unknown as LedgerEvent) : ({ kind: 'unknown', name: kind, fields } as const);
  return { attempt, node, seq, atMs, event };
}

function isIntact(line: Buffer): boolean {
  if (line.toString('latin1', 0, PREFIX.length) !== PREFIX) return false;
  if (line.toString('latin1', PREFIX_LENGTH - 2, PREFIX_LENGTH) !== '",') return false;
  return line.toString('latin1', PREFIX.length, PREFIX.length + 8) === hex32(crc32c(line.subarray(PREFIX_LENGTH)));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The range of a `Date`. */
function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= 8.64e15;
}
