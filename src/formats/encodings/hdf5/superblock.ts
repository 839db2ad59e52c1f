import { hex32 } from '../../../core/checksums.ts';
import { Fault } from '../../reading/fault.ts';
import type { ByteSource } from '../../../bytes/source/byte-source.ts';
import { Fields, type Widths } from './field-widths.ts';
import { lookup3 } from './lookup3.ts';

const SIGNATURE = Buffer.from('894844460d0a1a0a', 'hex');
/**
 * The largest user block. The signature is at 0, or after a user block of 512, 1024, 2048, … bytes;
 * larger user blocks are not searched.
 */
const MAX_USER_BLOCK = 64 * 1024;
/** Bytes of the longest superblock: version 1 with addresses of 32 bytes. */
const MAX_BYTES = 256;
/** Bits 0 to 2 exist. */
const KNOWN_FLAGS = 7;

/** The parsed superblock of a file. */
export interface Superblock {
  readonly version: number;
  readonly widths: Widths;
  /** Offset in the source from which addresses count. */
  readonly base: number;
  /** Offset of the file's end in the source. */
  readonly end: number;
  /**
   * Bit 0: open for writing; bit 2: open for a single writer and many readers. Closing the file
   * clears them.
   */
  readonly flags: number;
  readonly root: number | null;
  readonly extension: number | null;
  /** Defined when a driver spreads the file over several files. */
  readonly driver: number | null;
}

/**
 * Returns the offset of the superblock, or null when this is not an HDF5 file. `head` is the first
 * part of the source.
 */
export function findSuperblock(head: Buffer, source: ByteSource): number | null {
  for (let at = 0; at <= MAX_USER_BLOCK && at + SIGNATURE.length <= source.size; at = at === 0 ? 512 : at * 2) {
    const isInHead = at + SIGNATURE.length <= head.length;
    const bytes = isInHead ? head.subarray(at, at + SIGNATURE.length) : source.read(at, SIGNATURE.length);
    if (bytes.equals(SIGNATURE)) return at;
  }
  return null;
}

/** Reads the superblock at `at`. Throws a {@link Fault}. */
export function readSuperblock(source: ByteSource, at: number): Superblock {
  const bytes = source.read(at, MAX_BYTES);
  const version = bytes[8] ?? 0;
  if (bytes.length < 48)
    throw new Fault('HDF5_TRUNCATED', `the file ends inside its superblock, after ${source.size} bytes`, { offset: source.size });
  if (version > 3) {
    throw new Fault('HDF5_STRUCTURE_INVALID', `the superblock says it is of version ${version}; versions 0 to 3 exist`, {
      offset: at + 8,
      expected: '0 to 3',
      found: String(version),
    });
  }
  return version < 2 ? readOld(bytes, version, at) : readNew(bytes, version, at);
}

function widthsOf(address: number, length: number, at: number): Widths {
  const isKnown = [2, 4, 8, 16, 32].includes(address) && [2, 4, 8, 16, 32].includes(length);
  if (isKnown) return { address, length };
  throw new Fault(
    'HDF5_STRUCTURE_INVALID',
    `the superblock gives addresses ${address} and lengths ${length} bytes; 2, 4, 8, 16 and 32 exist`,
    { offset: at },
  );
}

function readOld(bytes: Buffer, version: number, at: number): Superblock {
  const widths = widthsOf(bytes[13] ?? 0, bytes[14] ?? 0, at + 13);
  const fields = new Fields(bytes, widths, 'the superblock', at);
  fields.skip(16);
  if (fields.u16() === 0 || fields.u16() === 0) fields.fail('it gives group nodes no room');
  const flags = fields.u32();
  if (flags > KNOWN_FLAGS) fields.fail(`its flags are ${flags}`);
  if (version === 1) fields.skip(4);
  const addresses = readAddresses(fields, at);
  const driver = fields.address();
  fields.skip(widths.length); // name of the root group, which has none
  return { version, widths, ...addresses, flags, driver, root: fields.address() };
}

function readNew(bytes: Buffer, version: number, at: number): Superblock {
  const widths = widthsOf(bytes[9] ?? 0, bytes[10] ?? 0, at + 9);
  const fields = new Fields(bytes, widths, 'the superblock', at);
  fields.skip(11);
  const flags = fields.u8();
  const addresses = readAddresses(fields, at);
  const root = fields.address();
  const computed = lookup3(bytes.subarray(0, fields.position));
  const stored = fields.u32();
  if (stored !== computed) {
    throw new Fault('HDF5_CHECKSUM_MISMATCH', `the superblock at byte ${at} does not match the checksum stored behind it`, {
      offset: at,
      expected: hex32(stored),
      found: hex32(computed),
    });
  }
  return { version, widths, ...addresses, flags, driver: null, root };
}

/**
 * Reads base, extension and end. The end is stored as an offset in the file, so it moves with the
 * base when bytes precede the file.
 */
function readAddresses(fields: Fields, at: number): Pick<Superblock, 'base' | 'extension' | 'end'> {
  const base = fields.address();
  const extension = fields.address();
  const end = fields.address();
  if (base === null || end === null) fields.fail('it does not say where the file begins or ends');
  return { base: at, extension, end: end - base + at };
}
