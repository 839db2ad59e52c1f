import { Fault } from '../../reading/fault.ts';

/** The widths of addresses and lengths in this file, from the superblock. */
export interface Widths {
  readonly address: number;
  readonly length: number;
}

/** Reads the fields of one structure in order. Reading past its end is a fault of the structure. */
export class Fields {
  readonly #bytes: Buffer;
  readonly #widths: Widths;
  readonly #what: string;
  /** Offset of the first byte in the source, for evidence. */
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
    const at = this.#advance(count);
    return this.#bytes.subarray(at, at + count);
  }

  skip(count: number): void {
    this.#advance(count);
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#advance(1));
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#advance(2));
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#advance(4));
  }

  /** An unsigned integer of `width` bytes; Infinity when a number cannot hold it exactly. */
  uint(width: number): number {
    const at = this.#advance(width);
    let value = 0;
    for (let i = at + width - 1; i >= at; i--) value = value * 256 + (this.#bytes[i] as number);
    return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
  }

  /** An address; null stands for "nowhere", which is stored as all ones. */
  address(): number | null {
    const width = this.#widths.address;
    const value = this.uint(width);
    for (let i = this.#at - width; i < this.#at; i++) if (this.#bytes[i] !== 0xff) return value;
    return null;
  }

  length(): number {
    return this.uint(this.#widths.length);
  }

  /** Requires a signature of four letters. */
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

  /** Requires one of the known versions. */
  version(...known: readonly number[]): number {
    const found = this.u8();
    if (!known.includes(found)) this.fail(`its version is ${found}, known are ${known.join(', ')}`);
    return found;
  }

  /** Moves past bytes that must exist, and returns their start. */
  #advance(count: number): number {
    const at = this.#at;
    if (!(count <= this.#bytes.length - at)) this.fail(`it needs ${count} bytes, ${this.remaining} are left of it`);
    this.#at = at + count;
    return at;
  }

  fail(reason: string): never {
    throw new Fault('HDF5_STRUCTURE_INVALID', `${this.#what} at byte ${this.start} is not valid: ${reason}`, {
      offset: this.start + this.#at,
    });
  }
}
