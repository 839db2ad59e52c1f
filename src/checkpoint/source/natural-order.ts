const collator = new Intl.Collator('en', { numeric: true });

/** Orders names as people count: `shard-2` before `shard-10`; equal-looking names by code unit, so that the order is total. */
export function naturalOrder(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
