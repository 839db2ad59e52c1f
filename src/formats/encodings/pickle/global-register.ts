import { asItems, isNode, type PickleCall, type PickleGlobal, type PickleValue } from './value.ts';

/**
 * How a pickle uses a name, weakest use first. `reference` only imports the name. `new` makes an
 * object of the class without `__init__`. `value` calls the name with at most one plain value, as
 * for enumerations. `call` calls it with anything.
 */
export type Use = 'reference' | 'new' | 'value' | 'call';

const ORDER: readonly Use[] = ['reference', 'new', 'value', 'call'];

/** One imported name, and its strongest use in the pickle. */
export interface GlobalRecord {
  readonly global: PickleGlobal;
  /** The strongest use of the name. */
  use: Use;
  /** Offset of that use. */
  offset: number;
  /** Offset where BUILD would change the imported thing itself, or null. */
  changedAt: number | null;
}

/** Every name a load would import, once each, with its strongest use. */
export class GlobalRegister {
  readonly #byName = new Map<string, PickleGlobal>();
  readonly #records = new Map<PickleGlobal, GlobalRecord>();
  /** Offsets of calls to the result of another call, or to an object from outside. */
  readonly computedCalls: number[] = [];

  get size(): number {
    return this.#records.size;
  }

  get all(): readonly GlobalRecord[] {
    return [...this.#records.values()];
  }

  find(module: string, name: string): PickleGlobal | null {
    return this.#byName.get(`${module}\n${name}`) ?? null;
  }

  add(global: PickleGlobal): PickleGlobal {
    this.#byName.set(`${global.module}\n${global.name}`, global);
    this.#records.set(global, { global, use: 'reference', offset: global.offset, changedAt: null });
    return global;
  }

  noteCall(how: PickleCall['how'], callable: PickleValue, args: PickleValue, offset: number): void {
    const record = this.#recordOf(callable);
    if (record === null) {
      if (this.computedCalls.length < 100) this.computedCalls.push(offset);
      return;
    }
    const use = how === 'new' ? 'new' : isOnePlainValue(args) ? 'value' : 'call';
    if (ORDER.indexOf(use) <= ORDER.indexOf(record.use)) return;
    record.use = use;
    record.offset = offset;
  }

  noteChange(global: PickleGlobal, offset: number): void {
    const record = this.#recordOf(global);
    if (record !== null) record.changedAt ??= offset;
  }

  #recordOf(called: PickleValue): GlobalRecord | null {
    const value = classBehind(called);
    if (!isNode(value) || value.kind !== 'global') return null;
    return this.#records.get(value) ?? null;
  }
}

/**
 * Returns the class behind a persistent id, or the value itself for any other value. Old torch
 * files refer to classes of modules by the persistent id ('module', class, file, source).
 */
function classBehind(value: PickleValue): PickleValue {
  if (!isNode(value) || value.kind !== 'persistent') return value;
  const parts = asItems(value.id);
  return parts?.[0] === 'module' ? (parts[1] ?? value) : value;
}

function isOnePlainValue(args: PickleValue): boolean {
  if (!isNode(args) || args.kind !== 'tuple') return false;
  return args.items.length === 0 || (args.items.length === 1 && !isNode(args.items[0]));
}
