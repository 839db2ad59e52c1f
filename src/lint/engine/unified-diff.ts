/** Above this many pairs of lines the changed part is shown as one block. */
const MOST_CELLS = 4_000_000;
const CONTEXT = 3;

type Line = readonly [sign: ' ' | '-' | '+', text: string];

/** What changes between two texts, as `diff -u` shows it; nothing where they are the same. */
export function unifiedDiff(path: string, before: string, after: string): readonly string[] {
  if (before === after) return [];
  const lines = changes(linesOf(before), linesOf(after));
  return [`--- ${path}`, `+++ ${path}`, ...hunks(lines)];
}

/** The lines without the end of the last one. */
function linesOf(text: string): readonly string[] {
  return text.replace(/\n$/, '').split('\n');
}

function changes(a: readonly string[], b: readonly string[]): readonly Line[] {
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const same = (text: string): Line => [' ', text];
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  return [...a.slice(0, start).map(same), ...shortest(left, right), ...a.slice(a.length - end).map(same)];
}

/**
 * The shortest edit script, by the longest common subsequence of lines; one block where that would
 * take too long.
 */
function shortest(a: readonly string[], b: readonly string[]): readonly Line[] {
  const [removed, added] = [(text: string): Line => ['-', text], (text: string): Line => ['+', text]];
  if (a.length * b.length > MOST_CELLS) return [...a.map(removed), ...b.map(added)];
  const common = commonLengths(a, b);
  const width = b.length + 1;
  const lines: Line[] = [];
  let [x, y] = [0, 0];
  while (x < a.length && y < b.length) {
    if (a[x] === b[y]) {
      lines.push([' ', a[x] as string]);
      x++;
      y++;
    } else if ((common[(x + 1) * width + y] as number) >= (common[x * width + y + 1] as number)) lines.push(removed(a[x++] as string));
    else lines.push(added(b[y++] as string));
  }
  return [...lines, ...a.slice(x).map(removed), ...b.slice(y).map(added)];
}

/** For each pair of places, how many lines the rests have in common. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint32Array {
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let x = a.length - 1; x >= 0; x--) {
    for (let y = b.length - 1; y >= 0; y--) {
      const at = x * width + y;
      const best = Math.max(common[at + width] as number, common[at + 1] as number);
      common[at] = a[x] === b[y] ? (common[at + width + 1] as number) + 1 : best;
    }
  }
  return common;
}

function hunks(lines: readonly Line[]): readonly string[] {
  const changed = lines.flatMap(([sign], index) => (sign === ' ' ? [] : [index]));
  const ranges: { from: number; to: number }[] = [];
  for (const index of changed) {
    const last = ranges.at(-1);
    if (last !== undefined && index - CONTEXT <= last.to) last.to = Math.min(lines.length, index + CONTEXT + 1);
    else ranges.push({ from: Math.max(0, index - CONTEXT), to: Math.min(lines.length, index + CONTEXT + 1) });
  }
  return ranges.flatMap(({ from, to }) => {
    const [before, part] = [lines.slice(0, from), lines.slice(from, to)];
    const count = (of: readonly Line[], sign: '-' | '+'): number => of.filter(([own]) => own === ' ' || own === sign).length;
    const head = `@@ -${count(before, '-') + 1},${count(part, '-')} +${count(before, '+') + 1},${count(part, '+')} @@`;
    return [head, ...part.map(([sign, text]) => `${sign}${text}`)];
  });
}
