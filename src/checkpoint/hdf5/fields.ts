import { Fault } from '../fault.ts';

/** How wide addresses and lengths are in this file; the superblock says it. */
export interface Widths {
  readonly address: number;
  readonly length: number;
}

/** Reads the fields of one structure in order. Running over its end is a fault of the structure. */
export class Fields {
  readonly #bytes: Buffer;
  readonly #widths: Widths;
  readonly #what: string;
  /** Where the first byte lies in the source, for evidence. */
  readonly start: number;
  #at = 0;

  constructor(bytes: Buffer, widths: Widths, what: string, start: number) {
    this.#bytes = bytes;
    this.#widths = widths;
    this.#what = what;
    this.start = start;
  }

  get position(): number {
    return this.#at;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  bytes(count: number): Buffer {
    if (!(count <= this.remaining)) this.fail(`it needs ${count} bytes more than the ${this.remaining} that are left of it`);
    const part = this.#bytes.subarray(this.#at, this.#at + count);
    this.#at += count;
    return part;
  }

  skip(count: number): void {
    this.bytes(count);
  }

  u8(): number {
    return this.bytes(1).readUInt8(0);
  }

  u16(): number {
    return this.bytes(2).readUInt16LE(0);
  }

  u32(): number {
    return this.bytes(4).readUInt32LE(0);
  }

  /** An unsigned integer of `width` bytes; Infinity where a number cannot hold it exactly. */
  uint(width: number): number {
    const bytes = this.bytes(width);
    let value = 0;
    for (let i = width - 1; i >= 0; i--) value = value * 256 + (bytes[i] as number);
    return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
  }

  /** An address; null stands for "nowhere", which is stored as all ones. */
  address(): number | null {
    const bytes = this.bytes(this.#widths.address);
    if (bytes.every((byte) => byte === 0xff)) return null;
    this.#at -= bytes.length;
    return this.uint(bytes.length);
  }

  length(): number {
    return this.uint(this.#widths.length);
  }

  /** Demands a signature of four letters. */
  signature(expected: string): void {
    const found = this.bytes(4).toString('latin1');
    if (found !== expected) {
      throw new Fault('HDF5_STRUCTURE_INVALID', `${this.#what} at byte ${this.start} does not begin with ${expected}`, {
        offset: this.start,
        expected,
        found: Buffer.from(found, 'latin1').toString('hex'),
      });
    }
  }

  /** Demands one of the versions that exist. */
  version(...known: readonly number[]): number {
    const found = this.u8();
    if (!known.includes(found)) this.fail(`its version is ${found}, known are ${known.join(', ')}`);
    return found;
  }

  fail(reason: string): never {
    throw new Fault('HDF5_STRUCTURE_INVALID', `${this.#what} at byte ${this.start} is not valid: ${reason}`, {
      offset: this.start + this.#at,
    });
  }
}
