/** Resolves a word in braces: `namespace`, `node`, or an object's role such as `pod 1`. */
export type NameOf = (word: string) => string;

const PLACEHOLDER = /\{(namespace|node|(?:pod|job|cronjob) [0-9.]+)\}/g;

/** A copy of the value with names in place of all such words, at any depth. */
export function filled<Value>(value: Value, nameOf: NameOf): Value {
  if (typeof value === 'string') return value.replace(PLACEHOLDER, (_, word: string) => nameOf(word)) as Value;
  if (Array.isArray(value)) return value.map((each) => filled<unknown>(each, nameOf)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled<unknown>(each, nameOf)])) as Value;
}
