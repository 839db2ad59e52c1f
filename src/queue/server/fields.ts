import { RequestError } from './request-error.ts';

/**
 * An object that came as JSON; its fields are read by the functions below, which name what is
 * wrong.
 */
export type Fields = Readonly<Record<string, unknown>>;

/** Reads a text as one JSON object. */
export function parseJsonObject(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new RequestError(400, 'the body is not JSON');
  }
  if (!isObject(value)) throw new RequestError(400, 'the body is not a JSON object');
  return value;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text of at most so many characters. */
export function textField(fields: Fields, name: string, most: number): string {
  const value = fields[name];
  if (typeof value !== 'string') throw new RequestError(400, `"${name}" is not a string`);
  if (value.length > most) throw new RequestError(413, `"${name}" has ${value.length} characters; at most ${most} are taken`);
  // PostgreSQL cannot store these, and what one backend refuses the other refuses, too.
  if (value.includes('\u0000') || !value.isWellFormed()) throw new RequestError(400, `"${name}" holds a character that is no text`);
  return value;
}

/** JSON text in a string: its bytes are kept as they are. */
export function jsonField(fields: Fields, name: string, most: number): string {
  const text = textField(fields, name, most);
  try {
    JSON.parse(text);
  } catch {
    throw new RequestError(400, `"${name}" is not JSON`);
  }
  return text;
}

/** The largest token and generation that both databases can hold. */
const LARGEST_COUNT = 2 ** 31 - 1;

/** A whole number from 0, and at most `most`. */
export function countField(
  fields: Fields,
  name: string,
  { otherwise, most = LARGEST_COUNT }: { readonly otherwise?: number; readonly most?: number } = {},
): number {
  const value = fields[name] ?? otherwise;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > most)
    throw new RequestError(400, `"${name}" is not a whole number from 0 to ${most}`);
  return value;
}

/** True or false; false when it is not there. */
export function flagField(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== 'boolean') throw new RequestError(400, `"${name}" is not true or false`);
  return value;
}

/** A list of objects, empty when it is not there. */
export function listField(fields: Fields, name: string, most: number): readonly Fields[] {
  const value = fields[name] ?? [];
  if (!Array.isArray(value) || !value.every(isObject)) throw new RequestError(400, `"${name}" is not a list of objects`);
  if (value.length > most) throw new RequestError(413, `"${name}" has ${value.length} entries; at most ${most} are taken`);
  return value;
}
