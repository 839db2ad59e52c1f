import { deflateRawSync } from 'node:zlib';
import { crc32 } from '../../src/core/checksums.ts';

export interface ZipMember {
  readonly name: string;
  readonly data: Buffer;
  readonly deflate?: boolean;
  /** Sizes and checksum after the data, as torch writes them. */
  readonly descriptor?: boolean;
  /** Padding before the data, in an extra field. */
  readonly padding?: number;
  readonly crc?: number;
}

export interface ZipShape {
  readonly zip64?: boolean;
  /** A 64-bit end record although nothing needs it, as torch writes it. */
  readonly end64?: boolean;
  readonly comment?: string;
}

const ALL_ONES = 0xffffffff;

/** Writes an archive as the frameworks do; tests then damage it. */
export function writeZip(members: readonly ZipMember[], shape: ZipShape = {}): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const member of members) {
    const packed = member.deflate === true ? deflateRawSync(member.data) : member.data;
    const facts = { ...member, packed, offset, crc: member.crc ?? crc32(member.data) };
    const local = [localHeader(facts), packed, ...(member.descriptor === true ? [descriptor(facts)] : [])];
    parts.push(...local);
    directory.push(directoryEntry(facts, shape.zip64 === true));
    offset += local.reduce((sum, part) => sum + part.length, 0);
  }
  const table = Buffer.concat(directory);
  return Buffer.concat([...parts, table, ...endRecords(members.length, offset, table.length, shape)]);
}

interface Facts extends ZipMember {
  readonly packed: Buffer;
  readonly offset: number;
  readonly crc: number;
}

function flags(member: ZipMember): number {
  return 0x0800 | (member.descriptor === true ? 0x08 : 0);
}

function localHeader(facts: Facts): Buffer {
  const name = Buffer.from(facts.name);
  const extra = facts.padding === undefined ? Buffer.alloc(0) : Buffer.alloc(4 + facts.padding, 0x5a);
  if (extra.length > 0) {
    extra.write('FB', 0, 'latin1');
    extra.writeUInt16LE(extra.length - 4, 2);
  }
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(flags(facts), 6);
  header.writeUInt16LE(facts.deflate === true ? 8 : 0, 8);
  if (facts.descriptor !== true) {
    header.writeUInt32LE(facts.crc, 14);
    header.writeUInt32LE(facts.packed.length, 18);
    header.writeUInt32LE(facts.data.length, 22);
  }
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

function descriptor(facts: Facts): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32LE(0x08074b50, 0);
  bytes.writeUInt32LE(facts.crc, 4);
  bytes.writeUInt32LE(facts.packed.length, 8);
  bytes.writeUInt32LE(facts.data.length, 12);
  return bytes;
}

function directoryEntry(facts: Facts, zip64: boolean): Buffer {
  const name = Buffer.from(facts.name);
  const extra = zip64 ? Buffer.alloc(28) : Buffer.alloc(0);
  if (zip64) {
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(24, 2);
    extra.writeBigUInt64LE(BigInt(facts.data.length), 4);
    extra.writeBigUInt64LE(BigInt(facts.packed.length), 12);
    extra.writeBigUInt64LE(BigInt(facts.offset), 20);
  }
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(flags(facts), 8);
  entry.writeUInt16LE(facts.deflate === true ? 8 : 0, 10);
  entry.writeUInt32LE(facts.crc, 16);
  entry.writeUInt32LE(zip64 ? ALL_ONES : facts.packed.length, 20);
  entry.writeUInt32LE(zip64 ? ALL_ONES : facts.data.length, 24);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt16LE(extra.length, 30);
  entry.writeUInt32LE(zip64 ? ALL_ONES : facts.offset, 42);
  return Buffer.concat([entry, name, extra]);
}

function endRecords(count: number, offset: number, size: number, shape: ZipShape): Buffer[] {
  const comment = Buffer.from(shape.comment ?? '');
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  if (shape.zip64 !== true && shape.end64 !== true) return [end, comment];
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeBigUInt64LE(BigInt(count), 24);
  end64.writeBigUInt64LE(BigInt(count), 32);
  end64.writeBigUInt64LE(BigInt(size), 40);
  end64.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + size), 8);
  locator.writeUInt32LE(1, 16);
  return [end64, locator, end, comment];
}
