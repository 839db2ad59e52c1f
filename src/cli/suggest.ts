/** The word of the list that was most likely meant, or null when none is near. */
export function suggest(word: string, known: readonly string[]): string | null {
  // A word longer than any that is known cannot be a slip of one; this also bounds the work on absurd input.
  if (word.length > 64) return null;
  let best: string | null = null;
  let bestDistance = Infinity;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  if (best !== null && bestDistance <= Math.max(1, Math.floor(Math.max(word.length, best.length) / 3))) return best;
  return known.find((candidate) => word.length > 1 && candidate.toLowerCase().startsWith(word.toLowerCase())) ?? null;
}

/** ` Did you mean X?` with a leading space, or nothing. */
export function didYouMean(word: string, known: readonly string[], prefix = ''): string {
  const meant = suggest(word, known);
  return meant === null ? '' : ` Did you mean ${prefix}${meant}?`;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let distance = Math.min(replace, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) distance = Math.min(distance, (beforeLast[j - 2] ?? 0) + 1);
      row.push(distance);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
