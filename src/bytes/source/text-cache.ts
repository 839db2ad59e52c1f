const SLOTS = 4096;
const LONGEST = 64;

/**
 * Makes strings of short ASCII texts. Names come up again and again in an index: those seen lately
 * are not made anew.
 */
export class TextCache {
  readonly #texts: (string | null)[] = new Array<string | null>(SLOTS).fill(null);

  /** The text of the bytes from `start` to `end`, or null when it is long or not ASCII. */
  read(bytes: Buffer, start: number, end: number): string | null {
    const length = end - start;
    if (length > LONGEST) return null;
    let hash = length;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte > 0x7f) return null;
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    const slot = (hash ^ (hash >>> 12)) & (SLOTS - 1);
    const known = this.#texts[slot] as string | null;
    if (known !== null && isText(known, bytes, start, end)) return known;
    const text = bytes.toString('latin1', start, end);
    this.#texts[slot] = text;
    return text;
  }
}

/** True when the bytes are the text, which must be ASCII. */
export function isText(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== bytes[start + at]) return false;
  return true;
}
