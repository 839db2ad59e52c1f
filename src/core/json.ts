import { relieveMemory } from './memory.ts';
import { randomSeed } from './rng.ts';
import { LIMITS } from './hostile-limits.ts';

/** Any parsed JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
/** A parsed JSON object. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** The parsed value, or the reason for refusing the text. */
export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly limit: boolean; readonly reason: string };

/**
 * The limits on the weight of a parsed document, in units of some twenty bytes. A value costs one;
 * a string or a key costs one more plus its length; a list or an object costs four. Objects with
 * the same keys share one description. A new combination of keys costs ten for each key.
 */
const MAX_WEIGHT = 3_600_000;
const CONTAINER_WEIGHT = 4;
const NEW_KEY_WEIGHT = 10;
const LONG_TEXT = 4 * 1024 * 1024;
const CHARACTERS_PER_WEIGHT = 20;
/** The number of remembered combinations of keys; beyond it, every combination counts as new. */
const SHAPES = 4096;

/**
 * Parses untrusted JSON. Bounds its length, depth and number of values before it builds anything.
 */
export function parseJson(text: string): ParsedJson {
  const excess = beyondLimits(text);
  if (excess !== null) return tooMuch(excess);
  // Drops the reference to the bytes: only the text is needed from here on.
  if (text.length > LONG_TEXT) relieveMemory();
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch (thrown) {
    return { ok: false, limit: false, reason: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/**
 * Why the reader refuses a document of this weight; null when it accepts it. A writer checks this
 * before it writes a document that must be readable.
 */
export function beyondLimits(text: string): string | null {
  return text.length > LIMITS.documentBytes ? `${text.length} characters, at most ${LIMITS.documentBytes} are read` : measure(text);
}

/** The exceeded limit, or null. */
function measure(text: string): string | null {
  const scale = new Scale();
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = endOfString(text, i);
      scale.text(text, i, end);
      i = end;
    } else if (char === 0x7b || char === 0x5b) scale.open();
    else if (char === 0x7d || char === 0x5d) scale.close();
    else if (char === 0x3a) scale.key();
    else if (char === 0x2c) scale.weight++;
    if (scale.depth > LIMITS.depth) return `nested deeper than ${LIMITS.depth}`;
    if (scale.weight > MAX_WEIGHT) return 'more values than are read of one document';
  }
  return null;
}

const QUOTE = 0x22;

/** Index of the closing quote, or the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === 0x5c) i++;
    else if (char === QUOTE) return i;
  }
  return text.length;
}

/** A random start for the hash of keys, so that an attacker cannot craft keys that collide. */
const SEED = randomSeed();

/** Weighs a document token by token. */
class Scale {
  weight = 0;
  depth = 0;
  readonly #seed = SEED;
  readonly #shapes = new Set<number>();
  /** For the container at each depth: the hash and the number of its keys so far. */
  readonly #hashes: number[] = [];
  readonly #keys: number[] = [];
  #last = { start: 0, end: 0, text: '' };

  text(text: string, start: number, end: number): void {
    this.weight += 1 + Math.floor((end - start) / CHARACTERS_PER_WEIGHT);
    this.#last = { start, end, text };
  }

  /** The string before the colon is a key. */
  key(): void {
    this.weight++;
    const { text, start, end } = this.#last;
    let hash = this.#hashes[this.depth] ?? this.#seed;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    this.#hashes[this.depth] = hash;
    this.#keys[this.depth] = (this.#keys[this.depth] ?? 0) + 1;
    // A long object is weighed before it is closed.
    if ((this.#keys[this.depth] ?? 0) > 64) this.weight += NEW_KEY_WEIGHT;
  }

  open(): void {
    this.weight += CONTAINER_WEIGHT;
    this.depth++;
    this.#hashes[this.depth] = this.#seed;
    this.#keys[this.depth] = 0;
  }

  close(): void {
    const keys = this.#keys[this.depth] ?? 0;
    const shape = this.#hashes[this.depth] ?? 0;
    this.depth = Math.max(0, this.depth - 1);
    if (keys === 0 || this.#shapes.has(shape)) return;
    this.weight += NEW_KEY_WEIGHT * Math.min(keys, 64);
    if (this.#shapes.size < SHAPES) this.#shapes.add(shape);
  }
}

function tooMuch(reason: string): ParsedJson {
  return { ok: false, limit: true, reason };
}

/** Whether the value is a JSON object. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the value is a JSON list. */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A number with its digits as they stand in the text; what `JSON.rawJSON` makes of them. */
interface JsonOfSource {
  readonly rawJSON?: (text: string) => unknown;
}

/**
 * Parses JSON so that `JSON.stringify` writes every number with the digits that it had: a program
 * of another language may have numbers that JavaScript does not. Only for a value that is passed
 * on.
 */
export function parseKeepingNumbers(text: string): unknown {
  const { rawJSON } = JSON as JsonOfSource;
  if (rawJSON === undefined) return JSON.parse(text);
  const keep = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'number' && context?.source !== undefined ? rawJSON(context.source) : value;
  return JSON.parse(text, keep);
}
