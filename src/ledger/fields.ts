/** A kind of value that an event may hold: how it is told from others, and how the reference names it. */
export interface Field<T> {
  readonly has: (value: unknown) => value is T;
  readonly type: string;
}

export type Fields = Readonly<Record<string, Field<unknown>>>;
export type ValuesOf<Table extends Fields> = { readonly [Name in keyof Table]: Table[Name] extends Field<infer T> ? T : never };

export const number: Field<number> = {
  has: (value): value is number => typeof value === 'number' && Number.isFinite(value),
  type: 'number',
};
export const text: Field<string> = { has: (value) => typeof value === 'string', type: 'text' };
export const flag: Field<boolean> = { has: (value) => typeof value === 'boolean', type: 'true or false' };

export function oneOf<const Word extends string>(...words: readonly Word[]): Field<Word> {
  return {
    has: (value): value is Word => (words as readonly unknown[]).includes(value),
    type: words.map((word) => `\`${word}\``).join(', '),
  };
}

export function orNull<T>(field: Field<T>): Field<T | null> {
  return { has: (value): value is T | null => value === null || field.has(value), type: `${field.type} or null` };
}

export function listOf<T>(field: Field<T>): Field<readonly T[]> {
  return {
    has: (value): value is readonly T[] => Array.isArray(value) && value.every((item) => field.has(item)),
    type: `list of ${field.type}`,
  };
}

/** An object with at least these fields; more are kept as they are. */
export function shape<Table extends Fields>(fields: Table): Field<ValuesOf<Table>> {
  return {
    has: (value): value is ValuesOf<Table> => isRecord(value) && hasFields(value, fields),
    type: `object with ${Object.keys(fields)
      .map((name) => `\`${name}\``)
      .join(', ')}`,
  };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function hasFields(value: Readonly<Record<string, unknown>>, fields: Fields): boolean {
  return Object.entries(fields).every(([name, field]) => Object.hasOwn(value, name) && field.has(value[name]));
}
