import { closeSync, ftruncateSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { constants, deflateRawSync } from 'node:zlib';
import { combineCrc } from '../../../src/bytes/hashing/crc-combine.ts';
import { crc32 } from '../../../src/core/checksums.ts';
import { writeZip } from '../zip-writer.ts';
import type { Attack } from './attack.ts';
import { bytes, pickle, text } from './pickle-bytes.ts';
import { OP } from '../../../src/formats/encodings/pickle/opcodes.ts';
import { torchFile } from './torch-files.ts';

interface Entry {
  readonly name: string;
  readonly offset: number;
  readonly packed: number;
  readonly size: number;
  readonly crc: number;
  readonly method?: number;
}

function localHeader({ name, packed, size, crc, method = 0 }: Omit<Entry, 'offset'>): Buffer {
  const header = Buffer.alloc(30 + name.length);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(crc, 14);
  header.writeUInt32LE(Math.min(packed, 0xffffffff), 18);
  header.writeUInt32LE(Math.min(size, 0xffffffff), 22);
  header.writeUInt16LE(name.length, 26);
  header.write(name, 30, 'latin1');
  return header;
}

/** With 64-bit fields where a size needs them. */
function directoryEntry({ name, offset, packed, size, crc, method = 0 }: Entry): Buffer {
  const wide = size >= 0xffffffff;
  const entry = Buffer.alloc(46 + name.length + (wide ? 12 : 0));
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(method, 10);
  entry.writeUInt32LE(crc, 16);
  entry.writeUInt32LE(packed, 20);
  entry.writeUInt32LE(wide ? 0xffffffff : size, 24);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt16LE(wide ? 12 : 0, 30);
  entry.writeUInt32LE(offset, 42);
  entry.write(name, 46, 'latin1');
  if (wide) {
    entry.writeUInt16LE(1, 46 + name.length);
    entry.writeUInt16LE(8, 48 + name.length);
    entry.writeBigUInt64LE(BigInt(size), 50 + name.length);
  }
  return entry;
}

/** The closing records; counts that do not fit need the 64-bit ones. */
function end(count: bigint, size: bigint, offset: bigint, at: bigint): Buffer {
  const record = Buffer.alloc(56 + 20 + 22);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(count, 24);
  record.writeBigUInt64LE(count, 32);
  record.writeBigUInt64LE(size, 40);
  record.writeBigUInt64LE(offset, 48);
  record.writeUInt32LE(0x07064b50, 56);
  record.writeBigUInt64LE(at, 64);
  record.writeUInt32LE(1, 72);
  record.writeUInt32LE(0x06054b50, 76);
  for (const field of [84, 86]) record.writeUInt16LE(0xffff, field);
  for (const field of [88, 92]) record.writeUInt32LE(0xffffffff, field);
  return record;
}

interface Archive {
  readonly path: string;
  readonly local: readonly Buffer[];
  readonly directory: Iterable<Buffer>;
  /** Where the directory begins at the earliest; what is not written before is a hole. */
  readonly dataBytes?: number;
  /** Entries in each part of the directory. */
  readonly perPart?: number;
}

/** Writes an archive piece by piece, so that it may be larger than the memory. */
function stream({ path, local, directory, dataBytes = 0, perPart = 1 }: Archive): void {
  const file = openSync(path, 'w');
  try {
    let at = 0;
    for (const part of local) at += writeSync(file, part, 0, part.length, at);
    at = Math.max(at, dataBytes);
    ftruncateSync(file, at);
    const offset = at;
    let count = 0;
    let waiting: Buffer[] = [];
    const flush = (): void => {
      const joined = Buffer.concat(waiting);
      at += writeSync(file, joined, 0, joined.length, at);
      waiting = [];
    };
    for (const entry of directory) {
      count += perPart;
      if (waiting.push(entry) * perPart >= 10_000) flush();
    }
    flush();
    const tail = end(BigInt(count), BigInt(at - offset), BigInt(offset), BigInt(at));
    writeSync(file, tail, 0, tail.length, at);
  } finally {
    closeSync(file);
  }
}

function* times(count: number, make: (index: number) => Buffer): Generator<Buffer> {
  for (let index = 0; index < count; index++) yield make(index);
}

const MIB = 1024 * 1024;

/** Deflated zeros, `count` mebibytes of them, and the checksum of what they unpack to. */
function zeros(count: number): { packed: Buffer; crc: number } {
  const block = deflateRawSync(Buffer.alloc(MIB), { finishFlush: constants.Z_FULL_FLUSH, level: 9 });
  let crc = 0;
  const one = crc32(Buffer.alloc(MIB));
  for (let i = 0; i < count; i++) crc = combineCrc('crc32', crc, one, MIB);
  return { packed: Buffer.concat([...Array.from({ length: count }, () => block), deflateRawSync(Buffer.alloc(0))]), crc };
}

function bomb(path: string, name: string, mebibytes: number): void {
  const { packed, crc } = zeros(mebibytes);
  const entry = { name, offset: 0, packed: packed.length, size: mebibytes * MIB, crc, method: 8 };
  stream({ path, local: [localHeader(entry), packed], directory: [directoryEntry(entry)] });
}

/** An array's header that asks for a mebibyte more of itself, before zeros without end. */
function headerBomb(path: string): void {
  const head = Buffer.from('\x93NUMPY\x02\x00\x00\x00\x10\x00{', 'latin1');
  const { packed } = zeros(2000);
  const first = deflateRawSync(head, { finishFlush: constants.Z_FULL_FLUSH });
  const data = Buffer.concat([first, packed]);
  const entry = { name: 'a.npy', offset: 0, packed: data.length, size: head.length + 2000 * MIB, crc: 1, method: 8 };
  stream({ path, local: [localHeader(entry), data], directory: [directoryEntry(entry)] });
}

export const ZIP_ATTACKS: readonly Attack[] = [
  {
    name: 'two entries over the same bytes',
    write(path) {
      const file = torchFile(pickle(bytes(OP.NONE)), [{ name: 'archive/data/0', data: Buffer.alloc(64, 1) }]);
      const at = file.lastIndexOf('PK\x01\x02');
      const first = file.indexOf('PK\x01\x02');
      file.writeUInt32LE(file.readUInt32LE(first + 42), at + 42);
      writeFileSync(path, file);
    },
    exit: 1,
    codes: ['ZIP_LOCAL_HEADER'],
  },
  {
    name: 'a hundred thousand entries over one gibibyte',
    write(path) {
      const entry = { name: 'a.npy', offset: 0, packed: 1024 * MIB, size: 1024 * MIB, crc: 1 };
      const one = directoryEntry(entry);
      stream({ path, local: [localHeader(entry)], directory: times(100_000, () => one), dataBytes: 1024 * MIB + 64 });
    },
    options: ['--deep'],
    exit: 1,
    codes: ['ZIP_DUPLICATE', 'ZIP_OVERLAP'],
  },
  {
    name: 'an entry of twenty mebibytes that unpacks to twenty gibibytes',
    write: (path) => bomb(path, 'a.npy', 20 * 1024),
    options: ['--deep'],
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  { name: 'an array whose header unpacks to gibibytes', write: headerBomb, exit: 1, codes: ['NUMPY_HEADER_INVALID'] },
  {
    name: 'an entry that says it unpacks to a terabyte',
    write(path) {
      const entry = { name: 'archive/data.pkl', offset: 0, packed: 10, size: 2 ** 40, crc: 1, method: 8 };
      stream({ path, local: [localHeader(entry), Buffer.alloc(10)], directory: [directoryEntry(entry)] });
    },
    exit: 1,
    codes: ['ZIP_BOMB'],
  },
  {
    name: 'three million entries',
    write(path) {
      const entry = { name: 'archive/data.pkl', packed: 0, size: 0, crc: 0 };
      const block = Buffer.concat([...times(10_000, (i) => directoryEntry({ ...entry, name: `archive/data/${i}`, offset: 0 }))]);
      stream({ path, local: [localHeader(entry)], directory: times(300, () => block), dataBytes: 64, perPart: 10_000 });
    },
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'a hundred and twenty thousand whole entries',
    write(path) {
      const names = Array.from({ length: 119_998 }, (_, i) => `archive/data/${i}`);
      const data = Buffer.from([1]);
      const crc = crc32(data);
      const local = names.map((name) => Buffer.concat([localHeader({ name, packed: 1, size: 1, crc }), data]));
      const object = pickle(bytes(OP.NONE));
      const first = { name: 'archive/data.pkl', packed: object.length, size: object.length, crc: crc32(object) };
      const head = Buffer.concat([localHeader(first), object]);
      let at = head.length;
      const entries = names.map((name, i) => {
        const entry = directoryEntry({ name, offset: at, packed: 1, size: 1, crc });
        at += local[i]?.length ?? 0;
        return entry;
      });
      stream({ path, local: [head, Buffer.concat(local)], directory: [directoryEntry({ ...first, offset: 0 }), ...entries] });
    },
    options: ['--deep'],
    exit: 1,
    codes: ['TORCH_RECORD_MISSING'],
  },
  {
    name: 'a directory that says it has 2^64 - 1 entries',
    write(path) {
      const file = writeZip([{ name: 'archive/data.pkl', data: pickle(bytes(OP.NONE)) }]);
      const at = file.indexOf('PK\x01\x02');
      const size = file.indexOf('PK\x05\x06') - at;
      writeFileSync(path, Buffer.concat([file.subarray(0, at + size), end(2n ** 64n - 1n, BigInt(size), BigInt(at), BigInt(at + size))]));
    },
    exit: 1,
    codes: ['ZIP_END_INVALID'],
  },
  {
    name: 'a directory at 2^64 - 1',
    write(path) {
      const file = writeZip([{ name: 'archive/data.pkl', data: pickle(bytes(OP.NONE)) }]);
      const at = file.indexOf('PK\x05\x06');
      writeFileSync(path, Buffer.concat([file.subarray(0, at), end(1n, 2n ** 64n - 1n, 2n ** 64n - 1n, BigInt(at))]));
    },
    exit: 1,
    codes: ['ZIP_END_INVALID'],
  },
  {
    name: 'a pickle that is small only while it is packed',
    write: (path) =>
      writeFileSync(path, torchFile(pickle(Buffer.alloc(30 * MIB, bytes(OP.NONE, OP.POP)), text('x')), [], { deflate: true })),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'names of sixty kilobytes',
    write(path) {
      const entry = { packed: 0, size: 0, crc: 0, offset: 0 };
      const name = (i: number): string => `archive/data.pkl${String(i).padStart(6, '0')}${'n'.repeat(60_000)}`;
      stream({
        path,
        local: [localHeader({ ...entry, name: name(0) })],
        directory: times(500, (i) => directoryEntry({ ...entry, name: name(i) })),
      });
    },
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
];
