import type { PickleCall, PickleDict, PickleSequence, PickleValue } from './value.ts';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * Dictionaries up to this many keys share the list of them, because all objects of one class have
 * the same attributes.
 */
const SHARED_KEYS = 16;
const SHARED_TEXT = 512;
const SHAPES = 4096;
const RECENT = 6;

/** The shared content of every empty container: never extended, always replaced. */
const NOTHING: PickleValue[] = [];

/** A new dictionary without entries. */
export function emptyDict(): PickleDict {
  return { kind: 'dict', keys: NOTHING, values: NOTHING };
}

/**
 * Fills the containers of the tree. The first batch gets an array of exactly its length. Growing
 * arrays reserve room for seventeen items, which would dominate the memory of millions of small
 * containers.
 */
export class Containers {
  readonly #shapes = new Map<string, PickleValue[]>();
  /** The key lists used most recently. */
  readonly #recent: PickleValue[][] = [];
  #next = 0;

  extend(container: PickleSequence | PickleCall, items: readonly PickleValue[]): void {
    if (container.items === undefined || container.items.length === 0) (container as Mutable<typeof container>).items = items.slice();
    else for (const item of items) container.items.push(item);
  }

  /** Puts entries into a dictionary; returns true when its list of keys is shared with others. */
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

  /** Returns one shared list for all dictionaries with these keys. */
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
    // Compare key by key, because keys that contain newlines may join to the same text.
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
