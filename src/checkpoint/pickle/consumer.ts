import type { PickleDict, PickleSequence, PickleValue } from './value.ts';

/**
 * Takes what goes into containers out of a pickle while it is walked, so that the tree never holds all of a large one. Picklers fill
 * containers a thousand items at a time; each such batch is offered, and is complete but for values that contain themselves.
 */
export interface PickleConsumer {
  /**
   * Offered what is about to be appended to a list. The answer is how many bytes the consumer now holds for the items, which are then
   * left out of the list; or null when it did not take them.
   */
  takeItems(list: PickleSequence, items: readonly PickleValue[]): number | null;
  /** The same for a dictionary; `flat` holds keys and values in turn. */
  takeEntries(dict: PickleDict, flat: readonly PickleValue[]): number | null;
}
