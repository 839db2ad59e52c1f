/**
 * One text for two: common lines once, and around the others the condition that chooses between
 * them. Both results of the condition are the given texts, line by line.
 */
export function mergeVariants(condition: string, yes: readonly string[], no: readonly string[]): readonly string[] {
  const common = commonLines(yes, no);
  const lines: string[] = [];
  let [fromYes, fromNo] = [0, 0];
  for (const [y, n] of common) {
    lines.push(...choice(condition, yes.slice(fromYes, y), no.slice(fromNo, n)), yes[y] ?? '');
    [fromYes, fromNo] = [y + 1, n + 1];
  }
  return [...lines, ...choice(condition, yes.slice(fromYes), no.slice(fromNo))];
}

/** The places of the lines of the longest common subsequence. */
function commonLines(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  const lengths = commonLengths(a, b);
  const places: (readonly [number, number])[] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) places.push([i++, j++]);
    else if (lengthAt(lengths, i + 1, j) >= lengthAt(lengths, i, j + 1)) i += 1;
    else j += 1;
  }
  return places;
}

function choice(condition: string, yes: readonly string[], no: readonly string[]): readonly string[] {
  if (yes.length === 0 && no.length === 0) return [];
  if (yes.length === 0) return [`{{- if not ${condition} }}`, ...no, '{{- end }}'];
  return [`{{- if ${condition} }}`, ...yes, ...(no.length === 0 ? [] : ['{{- else }}', ...no]), '{{- end }}'];
}

/** The length of the longest common subsequence of every two ends of the texts. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly Uint32Array[] {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = rows[i];
      if (row === undefined) continue;
      row[j] = a[i] === b[j] ? lengthAt(rows, i + 1, j + 1) + 1 : Math.max(lengthAt(rows, i + 1, j), lengthAt(rows, i, j + 1));
    }
  }
  return rows;
}

function lengthAt(rows: readonly Uint32Array[], i: number, j: number): number {
  return rows[i]?.[j] ?? 0;
}
