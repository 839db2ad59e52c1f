import { relieveMemory } from '../core/memory.ts';
import { randomSeed } from '../core/rng.ts';
import { LIMITS } from './limits.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly limit: boolean; readonly reason: string };

/**
 * What a document may weigh once it is parsed, in units of some twenty bytes. A value costs one, a string and a key one more and their
 * length besides, a list and an object four. Objects with the same keys as one before share the description of them; a new combination costs ten for each key.
 */
const MAX_WEIGHT = 3_600_000;
const CONTAINER_WEIGHT = 4;
const NEW_KEY_WEIGHT = 10;
const LONG_TEXT = 4 * 1024 * 1024;
const CHARACTERS_PER_WEIGHT = 20;
/** Combinations of keys that are remembered; more than that are all taken for new. */
const SHAPES = 4096;

/** Parses JSON that comes from a stranger: bounded in length, depth and number of values before anything is built. */
export function parseJson(text: string): ParsedJson {
  const excess = beyondLimits(text);
  if (excess !== null) return tooMuch(excess);
  // The bytes that the text was made of are not needed any more.
  if (text.length > LONG_TEXT) relieveMemory();
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch (thrown) {
    return { ok: false, limit: false, reason: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** Why a document is not parsed, however right it is; null when it is. Whoever writes one that must be read again asks before. */
export function beyondLimits(text: string): string | null {
  return text.length > LIMITS.documentBytes ? `${text.length} characters, at most ${LIMITS.documentBytes} are read` : measure(text);
}

/** What is beyond the limits, or null. */
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

/** Index of the closing quote, or the length of the text where there is none. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === 0x5c) i++;
    else if (char === QUOTE) return i;
  }
  return text.length;
}

/** Where the hash of keys begins: anywhere, so that nobody can write keys that look alike to it. */
const SEED = randomSeed();

/** Weighs a document token by token. */
class Scale {
  weight = 0;
  depth = 0;
  readonly #seed = SEED;
  readonly #shapes = new Set<number>();
  /** Of the container at each depth: the hash of its keys so far, and how many they are. */
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
    // A long object is weighed on the way, before it is closed.
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

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
