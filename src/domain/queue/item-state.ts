/**
 * The states of an item, with the numbers that databases store; the numbers never change their
 * meaning.
 */
export const ITEM_STATES = {
  /** Waits for a worker. */
  ready: 0,
  /** Waits for the end of its back-off. */
  delayed: 1,
  /** A worker holds its lease. */
  leased: 2,
  /** Its result is committed. */
  done: 3,
  /** It failed as often as the queue allows. */
  failed: 4,
  /** Its workers died too often without an explanation. */
  aside: 5,
  /** A person cancelled it. */
  cancelled: 6,
} as const;

/** The name of a state in {@link ITEM_STATES}. */
export type ItemState = keyof typeof ITEM_STATES;
/** The number of a state, as stored. */
export type StateCode = (typeof ITEM_STATES)[ItemState];

/** The states in the order of the display. */
export const STATE_NAMES = Object.keys(ITEM_STATES) as readonly ItemState[];

/** The states that still need work. A queue without such items is drained. */
export const OPEN_STATES: readonly ItemState[] = ['ready', 'delayed', 'leased'];

/** Names a stored state. */
export function stateName(code: number): ItemState {
  const name = STATE_NAMES[code];
  if (name === undefined) throw new RangeError(`no item has the state ${code}`);
  return name;
}
