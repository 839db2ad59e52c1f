/** The part of a waiting item that decides its batch. */
export interface Waiting {
  /** A worker died with the item in a batch, so it is leased alone from now on. */
  readonly isAlone: boolean;
  /** The bytes of its value. */
  readonly length: number;
}

/**
 * How many of the first waiting items one worker gets together. An item that must be alone comes
 * alone. Beyond the first one, their values fit into `room`.
 */
export function takeHead(head: readonly Waiting[], room: number): number {
  let bytes = 0;
  const end = head.findIndex(({ isAlone, length }, i) => {
    bytes += length;
    return i > 0 && (isAlone || head[0]?.isAlone === true || bytes > room);
  });
  return end < 0 ? head.length : end;
}
