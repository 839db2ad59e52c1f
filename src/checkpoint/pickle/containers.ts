import type { PickleCall, PickleDict, PickleSequence, PickleValue } from './value.ts';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Dictionaries up to this many keys share the list of them: the attributes of objects of one class are the same every time. */
const SHARED_KEYS = 16;
const SHARED_TEXT = 512;
const SHAPES = 4096;
const RECENT = 6;

/** What every container holds until something is put in: never added to, always replaced. */
const NOTHING: PickleValue[] = [];

export function emptyDict(): PickleDict {
  return { kind: 'dict', keys: NOTHING, values: NOTHING };
}

/**
 * Fills the containers of the tree. The first batch gets an array of exactly its length, because arrays that grow reserve room for
 * seventeen, and millions of small containers would be mostly that.
 */
export class Containers {
  readonly #shapes = new Map<string, PickleValue[]>();
  /** Those that were met last. */
  readonly #recent: PickleValue[][] = [];
  #next = 0;

  extend(container: PickleSequence | PickleCall, items: readonly PickleValue[]): void {
    if (container.items === undefined || container.items.length === 0) (container as Mutable<typeof container>).items = items.slice();
    else for (const item of items) container.items.push(item);
  }

  /** Puts entries into a dictionary; true when its list of keys is shared with others. */
  setEntries(dict: PickleDict, keys: PickleValue[], values: PickleValue[]): boolean {
    const target: Mutable<PickleDict> = dict;
    if (dict.keys.length === 0) {
      target.keys = this.#shared(keys);
      target.values = values;
      return target.keys !== keys;
    }
    // The keys may be shared with other dictionaries.
    if (dict.keys.length <= SHARED_KEYS) target.keys = dict.keys.slice();
    for (const key of keys) target.keys.push(key);
    for (const value of values) target.values.push(value);
    return false;
  }

  /** One list for all dictionaries with these keys. */
  #shared(keys: PickleValue[]): PickleValue[] {
    if (keys.length > SHARED_KEYS) return keys;
    const recent = this.#recent.find((known) => isSame(known, keys));
    return recent ?? this.#sharedByText(keys);
  }

  #sharedByText(keys: PickleValue[]): PickleValue[] {
    if (!keys.every((key) => typeof key === 'string')) return keys;
    const shape = keys.join('\n');
    if (shape.length > SHARED_TEXT) return keys;
    const known = this.#shapes.get(shape);
    // Keys that contain newlines may join to the same text.
    const shared = known ?? keys;
    if (!isSame(shared, keys)) return keys;
    if (known === undefined && this.#shapes.size < SHAPES) this.#shapes.set(shape, keys);
    if (this.#shapes.get(shape) === shared) this.#recent[this.#next++ % RECENT] = shared;
    return shared;
  }
}

function isSame(known: readonly PickleValue[], keys: readonly PickleValue[]): boolean {
  if (known.length !== keys.length) return false;
  for (let index = 0; index < keys.length; index++) if (known[index] !== keys[index]) return false;
  return true;
}
