import type { PickleDict, PickleSequence, PickleValue } from './value.ts';

/**
 * Takes the content of containers out of a pickle during the walk, so that the tree never holds a
 * whole large container. Picklers fill containers a thousand items at a time, and the walker offers
 * each such batch. A batch is complete, except for values that contain themselves.
 */
export interface PickleConsumer {
  /**
   * Receives the items about to be appended to a list. It returns how many bytes the consumer now
   * holds for them, and the walker leaves them out of the list. It returns null when it does not
   * take the items.
   */
  takeItems(list: PickleSequence, items: readonly PickleValue[]): number | null;
  /** Does the same for a dictionary; `flat` holds keys and values in turn. */
  takeEntries(dict: PickleDict, flat: readonly PickleValue[]): number | null;
}
