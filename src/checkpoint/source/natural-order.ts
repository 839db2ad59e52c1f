/**
 * Orders names as people count: `shard-2` before `shard-10`. By hand, because the collator of Intl takes longer to make than a small
 * checkpoint to verify, and compares a hundred thousand names more slowly.
 */
export function naturalOrder(a: string, b: string): number {
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(j)];
    if (isDigit(left) && isDigit(right)) {
      const [endLeft, endRight] = [endOfDigits(a, i), endOfDigits(b, j)];
      const order = compareDigits(a, i, endLeft, b, j, endRight);
      if (order !== 0) return order;
      i = endLeft;
      j = endRight;
    } else if (left === right) {
      i++;
      j++;
    } else return left - right;
  }
  // Names that count alike (`1` and `01`) are ordered all the same, so that the order is total.
  return a.length - i - (b.length - j) || (a < b ? -1 : a > b ? 1 : 0);
}

/** By value, whatever their length: without leading zeros the longer number is the larger one. */
function compareDigits(a: string, startA: number, endA: number, b: string, startB: number, endB: number): number {
  const [i, j] = [endOfZeros(a, startA, endA), endOfZeros(b, startB, endB)];
  if (endA - i !== endB - j) return endA - i - (endB - j);
  for (let at = 0; at < endA - i; at++) {
    const difference = a.charCodeAt(i + at) - b.charCodeAt(j + at);
    if (difference !== 0) return difference;
  }
  return 0;
}

function isDigit(char: number): boolean {
  return char >= 0x30 && char <= 0x39;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (end < text.length && isDigit(text.charCodeAt(end))) end++;
  return end;
}

function endOfZeros(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && text.charCodeAt(at) === 0x30) at++;
  return at;
}
