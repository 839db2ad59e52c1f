import { asItems, isNode, type PickleCall, type PickleGlobal, type PickleValue } from './value.ts';

/**
 * What is done with a name: imported only; an object made of it without `__init__`; called with at most one plain value, as
 * enumerations are; called with anything.
 */
export type Use = 'reference' | 'new' | 'value' | 'call';

const ORDER: readonly Use[] = ['reference', 'new', 'value', 'call'];

export interface GlobalRecord {
  readonly global: PickleGlobal;
  /** The most that is done with it. */
  use: Use;
  /** Where it is used that way. */
  offset: number;
  /** Where BUILD would change the imported thing itself, or null. */
  changedAt: number | null;
}

/** Every name a load would import, once each, with the most that it would do with it. */
export class GlobalRegister {
  readonly #byName = new Map<string, PickleGlobal>();
  readonly #records = new Map<PickleGlobal, GlobalRecord>();
  /** Where the result of another call, or an object from outside, would be called. */
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

/** Old torch files refer to classes of modules by a persistent id, ('module', class, file, source), which stands for the class. */
function classBehind(value: PickleValue): PickleValue {
  if (!isNode(value) || value.kind !== 'persistent') return value;
  const parts = asItems(value.id);
  return parts?.[0] === 'module' ? (parts[1] ?? value) : value;
}

function isOnePlainValue(args: PickleValue): boolean {
  if (!isNode(args) || args.kind !== 'tuple') return false;
  return args.items.length === 0 || (args.items.length === 1 && !isNode(args.items[0]));
}
