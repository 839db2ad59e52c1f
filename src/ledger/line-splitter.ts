import { MAX_LINE_BYTES } from './line.ts';

const NEWLINE = 10;

/**
 * Splits the bytes appended to a file into lines, whatever pieces they are read in. A line that is
 * too long becomes null and takes no memory.
 */
export class LineSplitter {
  #rest: Buffer[] = [];
  #length = 0;
  #isTooLong = false;

  /** The lines that end in this piece, without their newlines. Empty lines are skipped. */
  *push(piece: Buffer): Generator<Buffer | null> {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      this.#keep(piece.subarray(start, end));
      start = end + 1;
      const line = this.#take();
      if (line === null || line.length > 0) yield line;
    }
    this.#keep(piece.subarray(start));
  }

  /**
   * True when there are bytes after the last newline: a torn line, or one that is being written
   * right now.
   */
  get hasRest(): boolean {
    return this.#length > 0 || this.#isTooLong;
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > MAX_LINE_BYTES) {
      this.#isTooLong = true;
      this.#rest = [];
    } else if (part.length > 0) this.#rest.push(part);
  }

  #take(): Buffer | null {
    const line = this.#isTooLong ? null : this.#rest.length === 1 ? (this.#rest[0] as Buffer) : Buffer.concat(this.#rest);
    this.#rest = [];
    this.#length = 0;
    this.#isTooLong = false;
    return line;
  }
}
