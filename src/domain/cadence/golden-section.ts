const RATIO = (Math.sqrt(5) - 1) / 2;

/**
 * Finds the minimum of a function with one valley between two ends, to a relative width of 1e-9.
 */
export function goldenSection(f: (x: number) => number, ends: readonly [number, number]): number {
  let [low, high] = ends;
  let left = high - RATIO * (high - low);
  let right = low + RATIO * (high - low);
  let [atLeft, atRight] = [f(left), f(right)];
  for (let round = 0; round < 200 && high - low > 1e-9 * (1 + Math.abs(low) + Math.abs(high)); round++) {
    if (atLeft <= atRight) {
      [high, right, atRight] = [right, left, atLeft];
      left = high - RATIO * (high - low);
      atLeft = f(left);
    } else {
      [low, left, atLeft] = [left, right, atRight];
      right = low + RATIO * (high - low);
      atRight = f(right);
    }
  }
  return (low + high) / 2;
}
