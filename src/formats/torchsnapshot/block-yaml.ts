import type { Json } from '../../core/json.ts';
import { LIMITS } from '../../core/hostile-limits.ts';

/**
 * Most lines of one document: each may become a key of its own, which costs some two hundred bytes.
 */
const MAX_LINES = 300_000;
const MAX_DEPTH = 32;

/** The parsed document, or the reason for refusing it. */
export type ParsedYaml =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly limit: boolean; readonly reason: string };

/**
 * Parses the part of YAML that a plain dump of dictionaries, lists and scalars uses: block mappings
 * and sequences, explicit keys (`? `), plain and quoted scalars on one line, empty `[]` and `{}`.
 * Anchors, tags, multi-line scalars and the like are refused.
 */
export function parseBlockYaml(text: string): ParsedYaml {
  if (text.length > LIMITS.documentBytes) return { ok: false, limit: true, reason: `longer than ${LIMITS.documentBytes} characters` };
  try {
    return { ok: true, value: new BlockParser(text).document() };
  } catch (thrown) {
    if (!(thrown instanceof YamlError)) throw thrown;
    return { ok: false, limit: thrown.limit, reason: thrown.message };
  }
}

class YamlError extends Error {
  readonly limit: boolean;

  constructor(line: number, reason: string, limit = false) {
    super(`line ${line}: ${reason}`);
    this.limit = limit;
  }
}

interface Line {
  readonly number: number;
  readonly indent: number;
  readonly text: string;
}

type Block = { [key: string]: Json };

/**
 * The lines that say something, one at a time: of hundreds of thousands only the places are held.
 */
class Lines {
  readonly #text: string;
  readonly #numbers: number[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** A line whose beginning was taken off. */
  #shortened: { readonly index: number; readonly line: Line } | null = null;

  constructor(text: string) {
    this.#text = text;
    let number = 0;
    for (let start = 0; start <= text.length; ) {
      const found = text.indexOf('\n', start);
      const end = found === -1 ? text.length : found;
      number++;
      if (end > start) this.#add(number, start, end);
      start = end + 1;
    }
  }

  #add(number: number, start: number, end: number): void {
    const trimmed = this.#text.slice(start, end).trim();
    if (trimmed === '' || trimmed.startsWith('#') || trimmed === '---') return;
    if (this.#numbers.length >= MAX_LINES) throw new YamlError(number, `more than ${MAX_LINES} lines`, true);
    this.#numbers.push(number);
    this.#starts.push(start);
    this.#ends.push(end);
  }

  at(index: number): Line | undefined {
    if (this.#shortened?.index === index) return this.#shortened.line;
    const number = this.#numbers[index];
    if (number === undefined) return undefined;
    const raw = this.#text.slice(this.#starts[index], this.#ends[index]);
    return { number, indent: raw.length - raw.trimStart().length, text: raw.trim() };
  }

  shorten(index: number, line: Line): void {
    this.#shortened = { index, line };
  }
}

class BlockParser {
  readonly #lines: Lines;
  #next = 0;

  constructor(text: string) {
    this.#lines = new Lines(text);
  }

  document(): Json {
    const first = this.#lines.at(0);
    if (first === undefined) return null;
    const value = this.#block(first.indent, 0);
    const rest = this.#lines.at(this.#next);
    if (rest !== undefined) throw new YamlError(rest.number, 'not indented as what it belongs to');
    return value;
  }

  #block(indent: number, depth: number): Json {
    const line = this.#lines.at(this.#next);
    if (line === undefined) return null;
    if (depth > MAX_DEPTH) throw new YamlError(line.number, `nested deeper than ${MAX_DEPTH}`, true);
    return isItem(line.text) ? this.#sequence(indent, depth) : this.#mapping(indent, depth);
  }

  #sequence(indent: number, depth: number): Json {
    const items: Json[] = [];
    for (let line = this.#lines.at(this.#next); line?.indent === indent && isItem(line.text); line = this.#lines.at(this.#next)) {
      items.push(this.#inner(line, 1, depth));
    }
    return items;
  }

  #mapping(indent: number, depth: number): Json {
    const entries = Object.create(null) as Block;
    for (let line = this.#lines.at(this.#next); line?.indent === indent && !isItem(line.text); line = this.#lines.at(this.#next)) {
      if (line.text.startsWith('? ')) this.#explicit(line, entries, depth);
      else this.#entry(line, entries, depth);
    }
    return entries;
  }

  #entry(line: Line, entries: Block, depth: number): void {
    const [key, rest] = splitKey(line);
    this.#next++;
    entries[key] = rest === '' ? this.#nested(line.indent, depth) : scalar(rest, line.number);
  }

  /** `? key` on one line, `: value` on the next: how keys longer than a line are written. */
  #explicit(line: Line, entries: Block, depth: number): void {
    const key = scalar(line.text.slice(2).trim(), line.number);
    this.#next++;
    const value = this.#lines.at(this.#next);
    if (value?.indent !== line.indent || !/^:( |$)/.test(value.text)) throw new YamlError(line.number, 'a key without a value');
    entries[keyText(key)] = this.#inner(value, 1, depth);
  }

  /**
   * What follows a marker of one character (`-`, `:`) on its line: a scalar, or the first line of a
   * block that is indented by it.
   */
  #inner(line: Line, marker: number, depth: number): Json {
    const rest = line.text.slice(marker).trimStart();
    if (rest === '') {
      this.#next++;
      return this.#nested(line.indent, depth);
    }
    if (!isItem(rest) && !rest.startsWith('? ') && !isEntry(rest)) {
      this.#next++;
      return scalar(rest, line.number);
    }
    const indent = line.indent + line.text.length - rest.length;
    this.#lines.shorten(this.#next, { number: line.number, indent, text: rest });
    return this.#block(indent, depth + 1);
  }

  /** The block under a key: indented further, or, for a sequence, as far as the key itself. */
  #nested(indent: number, depth: number): Json {
    const line = this.#lines.at(this.#next);
    if (line === undefined || line.indent < indent || (line.indent === indent && !isItem(line.text))) return null;
    return this.#block(line.indent, depth + 1);
  }
}

function isItem(text: string): boolean {
  return text === '-' || text.startsWith('- ');
}

/** Characters that begin something other than a plain key. */
const NOT_PLAIN = '#&*!|>%@`{}[],?-';

function isEntry(text: string): boolean {
  return keyLength(text) > 0;
}

/**
 * How many characters of the line are its key, 0 when it has none. A key ends at the first colon
 * before a space or the end.
 */
function keyLength(text: string): number {
  const first = text[0] ?? '';
  if (first === '"' || first === "'") {
    const end = quoteEnd(text, first);
    return end > 0 && /^ ?:( |$)/.test(text.slice(end, end + 3)) ? end : 0;
  }
  if (NOT_PLAIN.includes(first)) return 0;
  const colon = text.indexOf(': ');
  if (colon !== -1) return colon;
  return text.endsWith(':') ? text.length - 1 : 0;
}

/** Index behind the closing quote, 0 when there is none. */
function quoteEnd(text: string, quote: string): number {
  for (let at = 1; at < text.length; at++) {
    if (text[at] === '\\' && quote === '"') at++;
    else if (text[at] === quote && text[at + 1] === quote && quote === "'") at++;
    else if (text[at] === quote) return at + 1;
  }
  return 0;
}

/** Keys are text here, whatever they are in YAML. */
function keyText(key: Json): string {
  return typeof key === 'string' ? key : JSON.stringify(key);
}

function splitKey(line: Line): readonly [string, string] {
  const length = keyLength(line.text);
  if (length === 0) throw new YamlError(line.number, 'neither a key with a value nor an item of a list');
  const key = scalar(line.text.slice(0, length).trimEnd(), line.number);
  return [keyText(key), line.text.slice(line.text.indexOf(':', length) + 1).trim()];
}

const WORDS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['null', null],
  ['~', null],
  ['true', true],
  ['false', false],
]);

function scalar(text: string, line: number): Json {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (text === '[]') return [];
  if (text === '{}') return Object.create(null) as Block;
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  if (text.startsWith("'")) return text.endsWith("'") && text.length > 1 ? text.slice(1, -1).replaceAll("''", "'") : refuse(line, text);
  if (text.startsWith('"')) return quoted(text, line);
  return /^[&*!|>%@`{[]/.test(text) ? refuse(line, text) : text;
}

function quoted(text: string, line: number): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : refuse(line, text);
  } catch {
    return refuse(line, text);
  }
}

/**
 * It may well be YAML; it is more of it than is read here, so the document is not called broken.
 */
function refuse(line: number, text: string): never {
  throw new YamlError(line, `a scalar beginning with ${JSON.stringify(text[0] ?? '')} that needs more of YAML than is read`, true);
}
