import { isNode, type PickleCall, type PickleSequence, type PickleValue } from './value.ts';

/** Longest tuple of integers that is kept once. */
const LENGTH = 4;
/** How many distinct tuples are kept. */
const TUPLES = 50_000;

/**
 * Keeps small tuples of integers, and the `torch.Size` made of them, once each. An index of a large
 * model repeats the same few sizes and offsets hundreds of thousands of times. Both are immutable,
 * so sharing them changes nothing.
 */
export class Interned {
  readonly #tuples = new Map<string, PickleSequence>();
  readonly #sizes = new Map<PickleSequence, PickleCall>();
  readonly #isOn: boolean;

  /** False for a walk with a consumer, which gains nothing from sharing. */
  constructor(isOn: boolean) {
    this.#isOn = isOn;
  }

  /** Returns the shared tuple for these items, or null when they are of another kind. */
  tuple(items: PickleValue[]): PickleSequence | null {
    if (items.length === 0) return EMPTY;
    if (!this.#isOn || items.length > LENGTH || !items.every((item) => typeof item === 'number')) return null;
    const key = items.join(',');
    const known = this.#tuples.get(key);
    if (known !== undefined || this.#tuples.size >= TUPLES) return known ?? null;
    const tuple: PickleSequence = { kind: 'tuple', items };
    this.#tuples.set(key, tuple);
    return tuple;
  }

  /** Returns the call itself, or the shared call for the same size. */
  call(call: PickleCall): PickleCall {
    if (!this.#isOn || !isSize(call) || !isNode(call.args) || call.args.kind !== 'tuple') return call;
    const [size] = call.args.items;
    if (!isNode(size) || size.kind !== 'tuple') return call;
    const known = this.#sizes.get(size);
    if (known !== undefined) return known;
    if (this.#sizes.size < TUPLES && size.items.length <= LENGTH) this.#sizes.set(size, call);
    return call;
  }
}

/** The shared empty tuple. */
export const EMPTY: PickleSequence = { kind: 'tuple', items: [] };

/**
 * True for a `torch.Size`. Many places of the tree may share it, so it must not change in one of
 * them.
 */
export function isSize({ callable }: PickleCall): boolean {
  return isNode(callable) && callable.kind === 'global' && callable.name === 'Size' && callable.module === 'torch';
}
