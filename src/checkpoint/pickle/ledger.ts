import { isSize } from './interned.ts';
import { isNode, type PickleValue } from './value.ts';

/** Weights in bytes of what the value tree is made of, as V8 holds it; `growth` is what an array reserves when it grows. */
export const WEIGHT = { sequence: 90, dict: 100, call: 80, leaf: 72, slot: 10, array: 60, growth: 136, entry: 56 } as const;

/**
 * Keeps account of the memory a value tree holds. What was made since a mark belongs to the container that the mark opened, and goes
 * with it, unless a value of it can be reached from elsewhere by then: through the memo, or because it was put into a value from the
 * memo. Such a leak forbids forgetting what was made since the mark; text, numbers and names leak nothing but themselves.
 */
export class Ledger {
  /** Bytes that are held. */
  weight = 0;
  /** Bytes among them that stay whatever is forgotten. */
  #pinned = 0;
  #leaks = 0;
  /** Values of the memo that can still be changed. */
  readonly #changeable = new Set<PickleValue>();
  /** Weight, pinned bytes and leaks at each open mark. */
  readonly #marks: number[] = [];
  /** The same, at the mark that was closed last. */
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

  /** Memory that stays. */
  pin(bytes: number): void {
    this.weight += bytes;
    this.#pinned += bytes;
  }

  leak(): void {
    this.#leaks++;
  }

  /** Forgets what was made since the mark that was closed last, if nothing of it is held elsewhere. */
  release(): void {
    const { weight, pinned, leaks } = this.#closed;
    if (leaks === this.#leaks) this.weight = weight + this.#pinned - pinned;
  }

  /** A value goes into the memo. */
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

  /** A container is about to change. */
  change(target: PickleValue): void {
    if (this.#changeable.size > 0 && this.#changeable.has(target)) this.leak();
  }
}

/** How many integers a tuple, or a `torch.Size`, holds; null for everything else. */
function flatLength(value: PickleValue): number | null {
  if (!isNode(value)) return null;
  if (value.kind === 'tuple') return value.items.every((item) => typeof item === 'number') ? value.items.length : null;
  if (value.kind !== 'call' || !isSize(value) || !isNode(value.args) || value.args.kind !== 'tuple' || value.kwargs !== undefined)
    return null;
  const [size, ...more] = value.args.items;
  return size !== undefined && more.length === 0 && isNode(size) && size.kind === 'tuple' ? flatLength(size) : null;
}
