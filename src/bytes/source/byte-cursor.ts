/**
 * Reads fields one after the other from bytes that cannot be trusted. A read beyond the end, or a
 * number too long for its kind, makes the cursor `failed` for good; what it returns from then on is
 * zero or empty, so a caller may check once at the end of a record.
 */
export class ByteCursor {
  readonly bytes: Buffer;
  at = 0;
  failed = false;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get remaining(): number {
    return this.failed ? 0 : this.bytes.length - this.at;
  }

  /** The next `length` bytes, not copied. */
  take(length: number): Buffer {
    if (!(length >= 0 && length <= this.remaining)) {
      this.failed = true;
      return this.bytes.subarray(0, 0);
    }
    const from = this.at;
    this.at += length;
    return this.bytes.subarray(from, this.at);
  }

  byte(): number {
    if (this.failed || this.at >= this.bytes.length) {
      this.failed = true;
      return 0;
    }
    return this.bytes[this.at++] as number;
  }

  uint32le(): number {
    const bytes = this.take(4);
    return this.failed ? 0 : bytes.readUInt32LE(0);
  }

  /**
   * A little-endian base-128 number of at most 64 bits; Infinity where a number cannot hold it
   * exactly.
   */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count++) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
      scale *= 128;
    }
    this.failed = true;
    return 0;
  }
}
