/** The length of the period of one tally. */
const TALLY_MS = 5000;

/** The start of the period in which work of this time is counted. */
export function tallyPeriod(at: number): number {
  return at - (at % TALLY_MS);
}
