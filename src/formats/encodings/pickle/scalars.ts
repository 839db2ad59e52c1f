import { isUtf8 } from 'node:buffer';
import { PICKLE_LIMITS } from './pickle-failure.ts';
import type { PickleValue } from './value.ts';

/** The value of a signed little-endian integer of any length; null when it is too long to read. */
export function integerOfBytes(bytes: Buffer): number | bigint {
  if (bytes.length === 0) return 0;
  if (bytes.length <= 6) return bytes.readIntLE(0, bytes.length);
  const magnitude = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
  const negative = (bytes[bytes.length - 1] as number) >= 0x80;
  return small(negative ? magnitude - (1n << BigInt(bytes.length * 8)) : magnitude);
}

/** An integer in Python's notation; null when the text is not one. */
export function integerOfText(text: string): PickleValue | null {
  const match = /^\s*([+-]?)(\d[\d_]*|0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+)\s*$/.exec(text);
  if (match === null) return null;
  const digits = (match[2] as string).replaceAll('_', '');
  if (digits.length > PICKLE_LIMITS.integerDigits) return { kind: 'huge-int', length: digits.length };
  const magnitude = BigInt(digits);
  return small(match[1] === '-' ? -magnitude : magnitude);
}

/** A float in Python's notation; null when the text is not one. */
export function floatOfText(text: string): number | null {
  const clean = text.trim().toLowerCase();
  const special = /^([+-]?)(inf(?:inity)?|nan)$/.exec(clean);
  if (special !== null) return special[2] === 'nan' ? Number.NaN : special[1] === '-' ? -Infinity : Infinity;
  return /^[+-]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)(e[+-]?\d+)?$/.test(clean) ? Number(clean.replaceAll('_', '')) : null;
}

function small(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * Text as protocols 1 and up store it; null when the bytes are not UTF-8. Lone surrogates are
 * accepted, as in Python.
 */
export function textOfUtf8(bytes: Buffer): string | null {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  if (!bytes.includes(0xed)) return null;
  const text = bytes.toString('latin1');
  const whole = text.replace(/\xed[\xa0-\xbf][\x80-\xbf]/g, '???');
  return isUtf8(Buffer.from(whole, 'latin1'))
    ? Buffer.from(text.replace(/\xed[\xa0-\xbf][\x80-\xbf]/g, '\xef\xbf\xbd'), 'latin1').toString()
    : null;
}

/** Text as UNICODE stores it: Latin-1, with `\uXXXX` for all other characters. */
export function textOfRawUnicodeEscape(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/\\u([\da-fA-F]{4})|\\U([\da-fA-F]{8})/g, (all, four: string | undefined, eight: string | undefined) => {
      const code = Number.parseInt(four ?? eight ?? '', 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : all;
    });
}

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92, "'": 39, '"': 34 };

/** The bytes of a quoted string of Python 2; null when it is not quoted. */
export function bytesOfQuoted(line: Buffer): Buffer | null {
  const text = line.toString('latin1').trim();
  const quote = text[0];
  if (text.length < 2 || (quote !== "'" && quote !== '"') || !text.endsWith(quote)) return null;
  const body = text.slice(1, -1).replace(/\\(x[\da-fA-F]{2}|[0-7]{1,3}|.)/gs, (all, escape: string) => {
    if (escape.length > 1 && escape.startsWith('x')) return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    if (/^[0-7]/.test(escape)) return String.fromCharCode(Number.parseInt(escape, 8) & 0xff);
    const known = ESCAPES[escape];
    return known === undefined ? all : String.fromCharCode(known);
  });
  return Buffer.from(body, 'latin1');
}
