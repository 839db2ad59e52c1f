import { isSize } from './interned.ts';
import { isNode, type PickleValue } from './value.ts';

/**
 * Weights in bytes of the parts of a value tree, as V8 holds them; `growth` is the reserve of an
 * array that grows.
 */
export const WEIGHT = { sequence: 90, dict: 100, call: 80, leaf: 72, slot: 10, array: 60, growth: 136, entry: 56 } as const;

/**
 * Keeps account of the memory a value tree holds. Values made since a mark belong to the container
 * that the mark opened, and are released with it. A value leaks when it is reachable from elsewhere
 * by then: through the memo, or from a value in the memo. A leak keeps everything made since the
 * mark in the account; text, numbers and names leak only themselves.
 */
export class Ledger {
  /** Bytes held now. */
  weight = 0;
  /** Bytes among them that a release keeps. */
  #pinned = 0;
  #leaks = 0;
  /** Values of the memo that can still change. */
  readonly #changeable = new Set<PickleValue>();
  /** Weight, pinned bytes and leaks at each open mark. */
  readonly #marks: number[] = [];
  /** The same, at the mark that closed last. */
  #closed = { weight: 0, pinned: 0, leaks: -1 };

  open(): void {
    this.#marks.push(this.weight, this.#pinned, this.#leaks);
  }

  close(): void {
    const closed = this.#closed;
    closed.leaks = this.#marks.pop() ?? 0;
    closed.pinned = this.#marks.pop() ?? 0;
    closed.weight = this.#marks.pop() ?? 0;
  }

  /** Adds memory that a release keeps. */
  pin(bytes: number): void {
    this.weight += bytes;
    this.#pinned += bytes;
  }

  leak(): void {
    this.#leaks++;
  }

  /** Releases the values made since the last closed mark, if none of them is held elsewhere. */
  release(): void {
    const { weight, pinned, leaks } = this.#closed;
    if (leaks === this.#leaks) this.weight = weight + this.#pinned - pinned;
  }

  /** Records that a value goes into the memo. */
  remember(value: PickleValue): void {
    if (typeof value === 'string') return this.pin(WEIGHT.leaf + 2 * value.length);
    if (!isNode(value)) {
      if (typeof value === 'bigint') this.leak();
      return;
    }
    if (value.kind === 'global') return;
    const length = flatLength(value);
    if (length !== null) return this.pin(WEIGHT.call + 2 * WEIGHT.sequence + (length + 1) * WEIGHT.slot);
    this.leak();
    this.pin(WEIGHT.entry);
    this.#changeable.add(value);
  }

  /** Records that a container is about to change. */
  change(target: PickleValue): void {
    if (this.#changeable.size > 0 && this.#changeable.has(target)) this.leak();
  }
}

/** Returns how many integers a tuple, or a `torch.Size`, holds; null for every other value. */
function flatLength(value: PickleValue): number | null {
  if (!isNode(value)) return null;
  if (value.kind === 'tuple') return value.items.every((item) => typeof item === 'number') ? value.items.length : null;
  if (value.kind !== 'call' || !isSize(value) || !isNode(value.args) || value.args.kind !== 'tuple' || value.kwargs !== undefined)
    return null;
  const [size, ...more] = value.args.items;
  return size !== undefined && more.length === 0 && isNode(size) && size.kind === 'tuple' ? flatLength(size) : null;
}
