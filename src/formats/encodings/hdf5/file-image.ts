import { hex32 } from '../../../core/checksums.ts';
import { Fault } from '../../reading/fault.ts';
import type { ByteSource } from '../../../bytes/source/byte-source.ts';
import { Budget } from './walk-budget.ts';
import { Extents } from './extents.ts';
import { Fields, type Widths } from './field-widths.ts';
import { lookup3 } from './lookup3.ts';
import type { Superblock } from './superblock.ts';

/**
 * The largest single structure that is read. Object headers, heaps and index blocks of real files
 * have kilobytes.
 */
const MAX_BLOCK_BYTES = 32 * 1024 * 1024;

/** Bytes of the smallest superblock: version 2 with addresses of two bytes. */
const MIN_SUPERBLOCK_BYTES = 24;

/** The bytes of an HDF5 file by address, with the record of range owners and of the bytes read. */
export class Image {
  readonly source: ByteSource;
  readonly widths: Widths;
  readonly extents = new Extents();
  readonly budget = new Budget();
  readonly #base: number;
  readonly #end: number;

  constructor(source: ByteSource, { widths, base, end }: Superblock) {
    this.source = source;
    this.widths = widths;
    this.#base = base;
    this.#end = end;
    // Claim the superblock, because a zeroed address points here.
    this.extents.claim(base, MIN_SUPERBLOCK_BYTES, 'the superblock');
  }

  /** Returns the offset of an address in the source. */
  at(address: number): number {
    return this.#base + address;
  }

  /** Requires that the range lies inside the file. */
  demand(address: number, length: number, what: string): void {
    if (this.at(address) + length <= this.#end) return;
    throw new Fault(
      'HDF5_OUT_OF_BOUNDS',
      `${what} is said to lie at byte ${this.at(address)}, ${length} bytes long, but the file ends at ${this.#end}`,
      {
        offset: this.at(address),
        expected: `at most ${this.#end}`,
        found: String(this.at(address) + length),
      },
    );
  }

  /** Reads a structure whose whole length is known. */
  read(address: number, length: number, what: string): Buffer {
    this.demand(address, length, what);
    if (length > MAX_BLOCK_BYTES) {
      throw new Fault('LIMIT_EXCEEDED', `${what} is ${length} bytes long; at most ${MAX_BLOCK_BYTES} are read`, {
        offset: this.at(address),
      });
    }
    this.budget.spend('bytes of metadata', length);
    const bytes = this.source.read(this.at(address), length);
    if (bytes.length < length) throw new Fault('HDF5_TRUNCATED', `the file ends inside ${what}`, { offset: this.at(address) });
    return bytes;
  }

  /** Returns the fields of a structure, and claims its bytes for it. */
  fields(address: number, length: number, what: string): Fields {
    const bytes = this.read(address, length, what);
    this.extents.claim(this.at(address), length, what);
    return new Fields(bytes, this.widths, what, this.at(address));
  }

  /** Returns the fields of a structure whose last four bytes are the checksum of the rest. */
  checkedFields(address: number, length: number, what: string): Fields {
    const bytes = this.read(address, length, what);
    this.verify(bytes, address, what);
    this.extents.claim(this.at(address), length, what);
    return new Fields(bytes.subarray(0, length - 4), this.widths, what, this.at(address));
  }

  verify(bytes: Buffer, address: number, what: string): void {
    const body = bytes.length - 4;
    this.compare(bytes.readUInt32LE(body), lookup3(bytes.subarray(0, body)), address, what);
  }

  compare(stored: number, computed: number, address: number, what: string): void {
    if (stored === computed) return;
    throw new Fault('HDF5_CHECKSUM_MISMATCH', `${what} at byte ${this.at(address)} does not match the checksum stored with it`, {
      offset: this.at(address),
      expected: hex32(stored),
      found: hex32(computed),
    });
  }
}
