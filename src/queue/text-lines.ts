/**
 * JSON text in one line. A line break in it can only stand between tokens, where any space will do.
 */
export function inOneLine(json: string): string {
  return json.replace(/[\r\n]/g, ' ');
}

/** A line of a text, or a marker for one that was too long. */
export interface TextLine {
  readonly number: number;
  /** Null: it exceeded the limit. */
  readonly text: string | null;
}

/**
 * Reads a text line by line. Keeps at most one line in memory, and nothing of a line that is too
 * long.
 */
export async function* textLines(pieces: AsyncIterable<Buffer>, most: number): AsyncGenerator<TextLine> {
  let kept: Buffer[] = [];
  let size = 0;
  let number = 0;
  const line = (): TextLine => {
    number += 1;
    const text = size > most ? null : Buffer.concat(kept).toString();
    [kept, size] = [[], 0];
    return { number, text };
  };
  const keep = (part: Buffer): void => {
    size += part.length;
    if (size <= most) kept.push(part);
    else kept = [];
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, from)) {
      keep(piece.subarray(from, at));
      yield line();
      from = at + 1;
    }
    // A copy, because a slice would keep the whole chunk in memory.
    if (from < piece.length) keep(Buffer.from(piece.subarray(from)));
  }
  if (size > 0) yield line();
}
