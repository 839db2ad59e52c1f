/** The recent measurements of a queue. */
export interface Weather {
  /** Mean time of an item in milliseconds; null: none is done yet. */
  readonly itemMs: number | null;
  /** Interruptions per millisecond of a worker’s life; 0: none was seen. */
  readonly interruptionsPerMs: number;
  /** The cost of a request for the next items, in milliseconds. */
  readonly requestMs: number;
}

/** The most work leased ahead: an interruption must cost only seconds. */
const WIDEST_WINDOW_MS = 5000;
const MOST_ITEMS = 1000;
/** Until one item is measured, a worker gets a single one. */
const FIRST_BATCH = 1;

/**
 * How many items one worker leases at a time. A window of work W costs one request per W and, at an
 * interruption, half of W. The sum is least at W = sqrt(2 × request × time between interruptions).
 * The result is never more than five seconds of work, and never less than one item.
 */
export function batchSize({ itemMs, interruptionsPerMs, requestMs }: Weather, most: number): number {
  if (itemMs === null) return Math.min(most, FIRST_BATCH);
  const best = interruptionsPerMs > 0 ? Math.sqrt((2 * requestMs) / interruptionsPerMs) : Infinity;
  const window = Math.min(WIDEST_WINDOW_MS, best);
  return Math.max(1, Math.min(most, MOST_ITEMS, Math.floor(window / Math.max(itemMs, 0.001))));
}
