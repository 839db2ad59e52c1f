import { Fault } from '../../reading/fault.ts';
import { LIMITS } from '../../../core/hostile-limits.ts';

/**
 * The total cost limits of a walk through one file, whatever the file contains. A model has
 * thousands of objects, not millions.
 */
const ALLOWANCE = {
  /** Links, index entries, chunks and blocks; each stays in memory in some form. */
  entries: LIMITS.entries,
  /** Messages of object headers; each is inspected and released. */
  messages: 20_000_000,
  /** Bytes of names and paths. */
  'bytes of names': 48 * 1024 * 1024,
  /** Bytes of metadata read, including repeated reads. */
  'bytes of metadata': 512 * 1024 * 1024,
} as const;

/** Bounds the work of reading one file; exceeding it throws. */
export class Budget {
  readonly #spent = { entries: 0, messages: 0, 'bytes of names': 0, 'bytes of metadata': 0 };
  #isExhausted = false;

  /** Takes from the allowance; throws a {@link Fault} when it is used up. */
  spend(kind: keyof typeof ALLOWANCE, amount = 1): void {
    this.#spent[kind] += amount;
    if (this.#spent[kind] <= ALLOWANCE[kind]) return;
    this.#isExhausted = true;
    throw new Fault('LIMIT_EXCEEDED', `the file has more than ${ALLOWANCE[kind]} ${kind}`, { expected: `at most ${ALLOWANCE[kind]}` });
  }

  /** True after the first refusal, from which on further reading is useless. */
  get isExhausted(): boolean {
    return this.#isExhausted;
  }
}
