/** A text with a name, in which offsets become lines and columns. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** A stretch of a source, by offsets. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Line and column, both from 1, as editors count them. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Makes a function from offset to position; the line starts are found once. */
export function positionsOf(text: string): (offset: number) => Position {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
