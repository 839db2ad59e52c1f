/** A value of a manifest or a dump, from JSON or YAML. Nothing about it is known before a check. */
export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object; an empty one for any other value, so that further reads find nothing. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : EMPTY;
}

/** Whether the value is an object with fields, and not a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at the end of a path of own fields; undefined if the path ends early. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!isFields(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

/** The text at a path; null if there is none, or an empty one. */
export function textAt(value: unknown, ...path: readonly string[]): string | null {
  const found = at(value, ...path);
  return typeof found === 'string' && found !== '' ? found : null;
}

/** The finite number at a path, or null. */
export function numberAt(value: unknown, ...path: readonly string[]): number | null {
  const found = at(value, ...path);
  return typeof found === 'number' && Number.isFinite(found) ? found : null;
}

/** The list at a path; empty if there is none. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The texts of a list at a path, without its other entries. */
export function textsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  return listAt(value, ...path).filter((entry) => typeof entry === 'string');
}

/** The texts of a map at a path, such as labels. */
export function mapAt(value: unknown, ...path: readonly string[]): ReadonlyMap<string, string> {
  const entries = Object.entries(fieldsOf(at(value, ...path)));
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/** The instant at a path, in milliseconds since 1970; null if there is no date. */
export function timeAt(value: unknown, ...path: readonly string[]): number | null {
  const text = textAt(value, ...path);
  // The longest date that Kubernetes writes. The parser is lenient with longer texts.
  if (text === null || text.length > 40 || !/^\d{4}-\d\d-\d\dT/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isFinite(ms) ? ms : null;
}

const EMPTY: Fields = Object.freeze({});
