const [QUOTE, BACKSLASH, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];

/** The pieces of a text that is not JSON as a whole. */
export interface Pieces {
  /** Whole objects: complete documents, and the complete list entries of a truncated one. */
  readonly texts: readonly string[];
  /** The text ends in the middle of a document. */
  readonly isCut: boolean;
}

/**
 * Finds the whole objects of a text with several documents, or of a truncated one, such as half a
 * dump.
 */
export function wholeObjects(text: string): Pieces {
  const documents: string[] = [];
  let entries: string[] = [];
  /** The start of each open container. */
  const open: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE && open.length > 0) i = endOfText(text, i);
    else if (char === OPEN || (char === OPEN_LIST && open.length > 0)) open.push(i);
    else if (char === CLOSE || char === CLOSE_LIST) {
      const piece = closed(text, open, i);
      if (piece === null) continue;
      if (open.length === 2) entries.push(piece);
      if (open.length > 0) continue;
      documents.push(piece);
      entries = [];
    }
  }
  const isCut = open.length > 0;
  return { texts: isCut ? [...documents, ...entries] : documents, isCut };
}

/** The object that ends here; null for a list, or if nothing is open. */
function closed(text: string, open: number[], end: number): string | null {
  const start = open.pop();
  return start === undefined || text.charCodeAt(start) !== OPEN ? null : text.slice(start, end + 1);
}

/** The position of the closing quote, or the end of the text. */
function endOfText(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === BACKSLASH) i++;
    else if (char === QUOTE) return i;
  }
  return text.length;
}
