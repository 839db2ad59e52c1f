/** The most likely word of the list, or null when none is near. */
export function suggest(word: string, known: readonly string[]): string | null {
  // A word longer than every known word cannot be a slip of one. This also bounds the work on
  // absurd input.
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
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(replaced, at(i - 1, j) + 1, at(i, j - 1) + 1, isSwap ? at(i - 2, j - 2) + 1 : Infinity));
    }
  }
  return at(a.length, b.length);
}
