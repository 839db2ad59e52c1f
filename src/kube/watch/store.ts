import { type ApiObject, type ObjectKey, keyOf, keyText } from '../api/api-object.ts';

/** The objects of one kind as a watch last saw them. Always somewhat stale. */
export interface StoreReader {
  readonly size: number;
  get(key: ObjectKey): ApiObject | null;
  all(): Iterable<ApiObject>;
  /** The objects that an index lists under a value. */
  by(index: string, value: string): readonly ApiObject[];
}

/** The values under which an index lists an object. */
export type IndexOf = (object: ApiObject) => readonly string[];

/** What a store knew of an object before, and knows now; null: nothing. */
export interface StoreChange {
  readonly before: ApiObject | null;
  readonly after: ApiObject | null;
}

/** Objects by key and by index. One reflector writes it. */
export class Store implements StoreReader {
  readonly #objects = new Map<string, ApiObject>();
  readonly #indexes: ReadonlyMap<string, { readonly valuesOf: IndexOf; readonly lists: Map<string, Map<string, ApiObject>> }>;

  constructor(indexes: Readonly<Record<string, IndexOf>> = {}) {
    this.#indexes = new Map(Object.entries(indexes).map(([name, valuesOf]) => [name, { valuesOf, lists: new Map() }]));
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): ApiObject | null {
    return this.#objects.get(keyText(key)) ?? null;
  }

  all(): Iterable<ApiObject> {
    return this.#objects.values();
  }

  by(index: string, value: string): readonly ApiObject[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new Error(`the store has no index "${index}"`);
    return [...(found.lists.get(value)?.values() ?? [])];
  }

  /** Takes in an object; null: it is the version that the store has. */
  put(after: ApiObject): StoreChange | null {
    const key = keyText(keyOf(after));
    const before = this.#objects.get(key) ?? null;
    if (before !== null && isSame(before, after)) return null;
    this.#unlist(key, before);
    this.#objects.set(key, after);
    for (const { valuesOf, lists } of this.#indexes.values())
      for (const value of valuesOf(after)) {
        const list = lists.get(value) ?? new Map<string, ApiObject>();
        lists.set(value, list.set(key, after));
      }
    return { before, after };
  }

  /** Forgets an object; null: the store had none, or a later one of that name. */
  remove(gone: ApiObject): StoreChange | null {
    const key = keyText(keyOf(gone));
    const before = this.#objects.get(key) ?? null;
    if (before === null || before.metadata.uid !== gone.metadata.uid) return null;
    this.#unlist(key, before);
    this.#objects.delete(key);
    return { before, after: null };
  }

  /** Makes the store hold exactly these objects. */
  replaceAll(objects: readonly ApiObject[]): readonly StoreChange[] {
    const listed = new Set(objects.map((object) => keyText(keyOf(object))));
    const gone = [...this.#objects].filter(([key]) => !listed.has(key)).map(([, object]) => this.remove(object));
    return [...gone, ...objects.map((object) => this.put(object))].filter((change) => change !== null);
  }

  #unlist(key: string, object: ApiObject | null): void {
    if (object === null) return;
    for (const { valuesOf, lists } of this.#indexes.values())
      for (const value of valuesOf(object)) {
        const list = lists.get(value);
        list?.delete(key);
        if (list?.size === 0) lists.delete(value);
      }
  }
}

function isSame(one: ApiObject, other: ApiObject): boolean {
  return one.metadata.uid === other.metadata.uid && one.metadata.resourceVersion === other.metadata.resourceVersion;
}
