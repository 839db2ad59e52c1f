import { LIMITS } from '../../core/hostile-limits.ts';

/** The place and the reason where a header stopped being JSON of the expected shape. */
export class HeaderError extends Error {
  readonly offset: number;
  /** True when the header exceeds a limit, and not because it is malformed. */
  readonly limit: boolean;

  constructor(offset: number, reason: string, limit = false) {
    super(reason);
    this.name = 'HeaderError';
    this.offset = offset;
    this.limit = limit;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Reads JSON straight from bytes, token by token. Unlike `JSON.parse`, it reports every key of an
 * object, including repeated keys. It builds nothing for the values that it skips.
 */
export class JsonCursor {
  readonly #bytes: Buffer;
  position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /**
   * Returns the next byte that is not white space, or -1 at the end. It does not consume the byte.
   */
  peek(): number {
    const bytes = this.#bytes;
    for (;;) {
      const byte = bytes[this.position];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte ?? -1;
      this.position++;
    }
  }

  /** Consumes `char` if it is next. */
  take(char: string): boolean {
    if (this.peek() !== char.charCodeAt(0)) return false;
    this.position++;
    return true;
  }

  expect(char: string): void {
    if (!this.take(char)) throw new HeaderError(this.position, `${this.#shown()} where '${char}' belongs`);
  }

  string(): string {
    if (this.peek() !== QUOTE) throw new HeaderError(this.position, `${this.#shown()} where a string belongs`);
    const start = this.position;
    const escaped = this.#skipString();
    const inner = this.#bytes.subarray(start + 1, this.position - 1).toString('utf8');
    return escaped ? unescape(inner, start) : inner;
  }

  /** A whole number without sign; Infinity when a number cannot hold it exactly. */
  unsigned(): number {
    this.peek();
    const start = this.position;
    while (isDigit(this.#bytes[this.position])) this.position++;
    const length = this.position - start;
    if (length === 0) throw new HeaderError(start, `${this.#shown()} where a whole number belongs`);
    const value = length > 20 ? Number.POSITIVE_INFINITY : Number(this.#bytes.toString('latin1', start, this.position));
    return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
  }

  /** Calls `item` at the start of each element of an array. */
  array(item: () => void): void {
    this.expect('[');
    if (this.take(']')) return;
    do item();
    while (this.take(','));
    this.expect(']');
  }

  /** Calls `member` with each key of an object, at the start of its value. */
  object(member: (key: string, offset: number) => void): void {
    this.expect('{');
    if (this.take('}')) return;
    do {
      this.peek();
      const offset = this.position;
      const key = this.string();
      this.expect(':');
      member(key, offset);
    } while (this.take(','));
    this.expect('}');
  }

  /** Skips any value. It counts the nesting instead of recursing. */
  skip(): void {
    let depth = 0;
    do {
      const byte = this.peek();
      if (byte === QUOTE) this.#skipString();
      else if (byte === 0x7b || byte === 0x5b) depth = this.#enter(depth);
      else if (byte === 0x7d || byte === 0x5d) depth = this.#leave(depth);
      else if (depth > 0 && (byte === 0x2c || byte === 0x3a)) this.position++;
      else this.#skipWord();
    } while (depth > 0);
  }

  #enter(depth: number): number {
    this.position++;
    if (depth >= LIMITS.depth) throw new HeaderError(this.position, `values nested deeper than ${LIMITS.depth}`);
    return depth + 1;
  }

  #leave(depth: number): number {
    if (depth === 0) throw new HeaderError(this.position, `${this.#shown()} where a value belongs`);
    this.position++;
    return depth - 1;
  }

  /**
   * Numbers and the words true, false and null. Their spelling does not matter in a skipped value.
   */
  #skipWord(): void {
    const start = this.position;
    while (isWord(this.#bytes[this.position])) this.position++;
    if (this.position === start) throw new HeaderError(start, `${this.#shown()} where a value belongs`);
  }

  /** Moves past the closing quote; returns true when the string has escapes. */
  #skipString(): boolean {
    const start = this.position++;
    let escaped = false;
    for (;;) {
      const byte = this.#bytes[this.position++];
      if (byte === undefined) throw new HeaderError(start, 'a string that does not end');
      if (byte === QUOTE) return escaped;
      if (byte < 0x20) throw new HeaderError(this.position - 1, 'a control character in a string');
      if (byte === BACKSLASH) {
        escaped = true;
        this.position++;
      }
    }
  }

  #shown(): string {
    const byte = this.#bytes[this.position];
    if (byte === undefined) return 'the end';
    return byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `byte 0x${byte.toString(16).padStart(2, '0')}`;
  }
}

function unescape(inner: string, offset: number): string {
  try {
    return JSON.parse(`"${inner}"`) as string;
  } catch {
    throw new HeaderError(offset, 'a string with an unknown escape');
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isWord(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return isDigit(byte) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45;
}
