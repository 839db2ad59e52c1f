/**
 * Splits a stream of bytes into lines, none longer than its bound: a peer that never ends a line
 * costs no more memory than that.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The lines that this piece completes, without their newlines; null when one is longer than the
   * bound.
   */
  push(piece: Buffer): readonly string[] | null {
    const lines: string[] = [];
    let start = 0;
    for (let end = piece.indexOf(0x0a); end >= 0; end = piece.indexOf(0x0a, start)) {
      if (!this.#hold(piece.subarray(start, end))) return null;
      lines.push(Buffer.concat(this.#parts).toString('utf8'));
      this.#parts = [];
      this.#held = 0;
      start = end + 1;
    }
    return this.#hold(piece.subarray(start)) ? lines : null;
  }

  #hold(part: Buffer): boolean {
    this.#held += part.length;
    if (this.#held > this.#maxBytes) return false;
    if (part.length > 0) this.#parts.push(part);
    return true;
  }
}
