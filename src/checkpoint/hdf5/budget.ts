import { Fault } from '../fault.ts';
import { LIMITS } from '../limits.ts';

/** What a walk through one file may cost in all, whatever the file says. A model has thousands of objects, not millions. */
const ALLOWANCE = {
  /** Links, index entries, chunks and blocks: each is kept in memory in some form. */
  entries: LIMITS.entries,
  /** Messages of object headers: looked at and let go. */
  messages: 20_000_000,
  /** Bytes of names and paths. */
  'bytes of names': 48 * 1024 * 1024,
  /** Bytes of metadata that are read, those read repeatedly included. */
  'bytes of metadata': 512 * 1024 * 1024,
} as const;

export class Budget {
  readonly #spent = { entries: 0, messages: 0, 'bytes of names': 0, 'bytes of metadata': 0 };
  #isExhausted = false;

  /** Takes from the allowance; throws a {@link Fault} when there is none left. */
  spend(kind: keyof typeof ALLOWANCE, amount = 1): void {
    this.#spent[kind] += amount;
    if (this.#spent[kind] <= ALLOWANCE[kind]) return;
    this.#isExhausted = true;
    throw new Fault('LIMIT_EXCEEDED', `the file has more than ${ALLOWANCE[kind]} ${kind}`, { expected: `at most ${ALLOWANCE[kind]}` });
  }

  /** True once something was refused: from then on there is nothing to be gained by reading on. */
  get isExhausted(): boolean {
    return this.#isExhausted;
  }
}
