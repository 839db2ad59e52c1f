/** The places of a JSON document, each with the types of the values seen there. */
export type Shape = Readonly<Record<string, readonly string[]>>;

/** Objects whose keys are data and not field names. */
const MAPS: ReadonlySet<string> = new Set(['more', 'options', 'outcomes', 'metrics']);

/** Fields with a word from a fixed list. The words are part of the contract too. */
const WORDS: ReadonlySet<string> = new Set([
  'because',
  'confidence',
  'effect',
  'kind',
  'level',
  'limitedBy',
  'origin',
  'outcome',
  'schema',
  'state',
  'status',
  'verdict',
]);

/**
 * The shape of several documents of one kind. The elements of a list share a place (`files[]`), and
 * so do the values of a map (`more{}`). A field that only some objects of a place have is also
 * `absent`.
 */
export function shapeOf(documents: readonly unknown[]): Shape {
  const seen = new Map<string, Set<string>>();
  visit('', documents, seen);
  return Object.fromEntries([...seen].sort(([a], [b]) => (a < b ? -1 : 1)).map(([place, types]) => [place, [...types].sort()]));
}

function visit(place: string, values: readonly unknown[], seen: Map<string, Set<string>>): void {
  const types = seen.get(place) ?? new Set();
  seen.set(place, types);
  for (const value of values) types.add(typeOf(place, value));
  const elements = values.filter((value) => Array.isArray(value)).flat();
  if (elements.length > 0) visit(`${place}[]`, elements, seen);
  const objects = values.filter(isObject);
  if (MAPS.has(nameOf(place))) {
    const inner = objects.flatMap((object) => Object.values(object));
    if (inner.length > 0) visit(`${place}{}`, inner, seen);
    return;
  }
  for (const key of new Set(objects.flatMap((object) => Object.keys(object)))) {
    const inner = place === '' ? key : `${place}.${key}`;
    const having = objects.filter((object) => Object.hasOwn(object, key));
    visit(
      inner,
      having.map((object) => object[key]),
      seen,
    );
    if (having.length < objects.length) seen.get(inner)?.add('absent');
  }
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf('.') + 1).replaceAll('[]', '');
}

function typeOf(place: string, value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string' && WORDS.has(nameOf(place))) return `"${value}"`;
  return typeof value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
