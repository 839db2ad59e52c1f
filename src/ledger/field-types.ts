/** A type of value in an event: its check, and its name in the reference. */
export interface Field<T> {
  readonly has: (value: unknown) => value is T;
  readonly type: string;
}

/** The fields of an object, by name. */
export type Fields = Readonly<Record<string, Field<unknown>>>;
/** The values that a table of fields describes. */
export type ValuesOf<Table extends Fields> = { readonly [Name in keyof Table]: Table[Name] extends Field<infer T> ? T : never };

/** A finite number. */
export const number: Field<number> = {
  has: (value): value is number => typeof value === 'number' && Number.isFinite(value),
  type: 'number',
};
/** Any text. */
export const text: Field<string> = { has: (value) => typeof value === 'string', type: 'text' };
/** True or false. */
export const flag: Field<boolean> = { has: (value) => typeof value === 'boolean', type: 'true or false' };

/** One of these words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Field<Word> {
  return {
    has: (value): value is Word => (words as readonly unknown[]).includes(value),
    type: words.map((word) => `\`${word}\``).join(', '),
  };
}

/** The values of a field, or null. */
export function orNull<T>(field: Field<T>): Field<T | null> {
  return { has: (value): value is T | null => value === null || field.has(value), type: `${field.type} or null` };
}

/** A list of values of a field. */
export function listOf<T>(field: Field<T>): Field<readonly T[]> {
  return {
    has: (value): value is readonly T[] => Array.isArray(value) && value.every((item) => field.has(item)),
    type: `list of ${field.type}`,
  };
}

/** An object with at least these fields; other fields are kept as they are. */
export function shape<Table extends Fields>(fields: Table): Field<ValuesOf<Table>> {
  return {
    has: (value): value is ValuesOf<Table> => isRecord(value) && hasFields(value, fields),
    type: `object with ${Object.keys(fields)
      .map((name) => `\`${name}\``)
      .join(', ')}`,
  };
}

/** Whether a value is a plain object, and no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether an object has all of these fields itself, each with a valid value. */
export function hasFields(value: Readonly<Record<string, unknown>>, fields: Fields): boolean {
  return Object.entries(fields).every(([name, field]) => Object.hasOwn(value, name) && field.has(value[name]));
}
