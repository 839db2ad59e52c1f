import { LIMITS } from './limits.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly limit: boolean; readonly reason: string };

/** Most values one document may hold: the parsed form of each costs tens of bytes. */
const MAX_VALUES = 1_500_000;

/** Parses JSON that comes from a stranger: bounded in length, depth and number of values before anything is built. */
export function parseJson(text: string): ParsedJson {
  if (text.length > LIMITS.documentBytes) return tooMuch(`${text.length} characters, at most ${LIMITS.documentBytes} are read`);
  const excess = measure(text);
  if (excess !== null) return tooMuch(excess);
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch (thrown) {
    return { ok: false, limit: false, reason: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** What is beyond the limits, or null; one pass that skips strings. */
function measure(text: string): string | null {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === 0x5c) i++;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b || char === 0x5b) {
      values++;
      if (++depth > LIMITS.depth) return `nested deeper than ${LIMITS.depth}`;
    } else if (char === 0x7d || char === 0x5d) depth--;
    else if (char === 0x2c) values++;
    if (values > MAX_VALUES) return `more than ${MAX_VALUES} values`;
  }
  return null;
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
