import { writeFileSync } from 'node:fs';
import type { Attack } from './attack.ts';
import { bytes, many, pickle, text as pickleText } from './pickle-bytes.ts';
import { OP } from '../../../src/formats/encodings/pickle/opcodes.ts';

function u32(value: number): Buffer {
  const encoded = Buffer.alloc(4);
  encoded.writeUInt32LE(value);
  return encoded;
}

function u64(value: bigint): Buffer {
  const encoded = Buffer.alloc(8);
  encoded.writeBigUInt64LE(value);
  return encoded;
}

const HUGE = 2n ** 64n - 1n;

function gguf(tensors: bigint, pairs: bigint, ...rest: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors), u64(pairs), ...rest]);
}

function ggufText(value: string): Buffer {
  return Buffer.concat([u64(BigInt(Buffer.byteLength(value))), Buffer.from(value)]);
}

const ARRAY = 9;

export const GGUF_ATTACKS: readonly Attack[] = [
  {
    name: '2^64 - 1 tensors',
    write: (path) => writeFileSync(path, gguf(HUGE, 0n, Buffer.alloc(64))),
    exit: 1,
    codes: ['GGUF_HEADER_INVALID'],
  },
  {
    name: '2^64 - 1 keys',
    write: (path) => writeFileSync(path, gguf(0n, HUGE, Buffer.alloc(64))),
    exit: 1,
    codes: ['GGUF_HEADER_INVALID'],
  },
  {
    name: 'a key of 2^64 - 1 bytes',
    write: (path) => writeFileSync(path, gguf(0n, 1n, u64(HUGE), Buffer.alloc(64))),
    exit: 1,
    codes: ['GGUF_HEADER_INVALID'],
  },
  {
    name: 'arrays in arrays without end',
    write: (path) =>
      writeFileSync(
        path,
        gguf(0n, 1n, ggufText('a'), u32(ARRAY), ...Array.from({ length: 100_000 }, () => Buffer.concat([u32(ARRAY), u64(1n)]))),
      ),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'an array of 2^64 - 1 strings',
    write: (path) => writeFileSync(path, gguf(0n, 1n, ggufText('a'), u32(ARRAY), u32(8), u64(HUGE), Buffer.alloc(64))),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'seven million strings',
    write: (path) => writeFileSync(path, gguf(0n, 1n, ggufText('a'), u32(ARRAY), u32(8), u64(7_000_000n), Buffer.alloc(56_000_000))),
    exit: 1,
    codes: [],
  },
  {
    name: 'a million tensors',
    write: (path) => writeFileSync(path, gguf(999_999n, 0n, Buffer.alloc(24_000_000))),
    exit: 1,
    codes: [],
  },
  {
    name: 'keys of sixty kilobytes',
    write: (path) =>
      writeFileSync(
        path,
        gguf(
          0n,
          1000n,
          many(600, (i) => Buffer.concat([ggufText(`${i}${'k'.repeat(60_000)}`), u32(4), u32(1)])),
        ),
      ),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
];

function npy(header: string | Buffer, major = 1, length?: number): Buffer {
  const body = Buffer.from(header);
  const size = Buffer.alloc(major === 1 ? 2 : 4);
  if (major === 1) size.writeUInt16LE(length ?? body.length);
  else size.writeUInt32LE(length ?? body.length);
  return Buffer.concat([Buffer.from('\x93NUMPY', 'latin1'), bytes(major, 0), size, body]);
}

const START = "{'descr': '<f4', 'fortran_order': False, 'shape': ";

export const NUMPY_ATTACKS: readonly Attack[] = [
  {
    name: 'a shape of more than there is',
    write: (path) => writeFileSync(path, npy(`${START}(${'9'.repeat(15)}, ${'9'.repeat(15)}), }`)),
    exit: 1,
    codes: ['NUMPY_TRUNCATED'],
  },
  {
    name: 'a header of four gibibytes',
    write: (path) => writeFileSync(path, npy(START, 2, 0xffffffff)),
    exit: 1,
    codes: ['NUMPY_HEADER_INVALID'],
  },
  {
    name: 'tuples in tuples',
    write: (path) => writeFileSync(path, npy(`${START}${'('.repeat(500_000)}`, 2)),
    exit: 1,
    codes: ['NUMPY_HEADER_INVALID'],
  },
  {
    name: 'half a megabyte of numbers before half a megabyte of spaces',
    write: (path) => writeFileSync(path, npy(`${START}(${'1,'.repeat(250_000)}${' '.repeat(500_000)}`, 2)),
    exit: 1,
    codes: ['NUMPY_HEADER_INVALID'],
  },
  {
    name: 'a string that never ends',
    write: (path) => writeFileSync(path, npy(`{'${'\\'.repeat(1_000_000)}`, 2)),
    exit: 1,
    codes: ['NUMPY_HEADER_INVALID'],
  },
  {
    name: 'a pickle of objects that calls os.system',
    write: (path) =>
      writeFileSync(
        path,
        Buffer.concat([
          npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
          pickle(Buffer.from('cos\nsystem\n'), pickleText('id'), bytes(OP.TUPLE1, OP.REDUCE)),
        ]),
      ),
    options: ['--strict'],
    exit: 4,
    codes: ['PICKLE_UNSAFE_GLOBAL'],
  },
];

/** An array of no elements as Flax packs it. */
const EMPTY_ARRAY = Buffer.concat([bytes(0xc7, 12, 1, 0x93, 0x91, 0x00, 0xa7), Buffer.from('float32'), bytes(0xc4, 0)]);
const HEAD = Buffer.concat([
  bytes(0xa1),
  Buffer.from('a'),
  Buffer.concat([bytes(0xc7, EMPTY_ARRAY.length - 3, 1), EMPTY_ARRAY.subarray(3)]),
]);

function map(count: number, ...rest: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(5, 0xdf);
  head.writeUInt32BE(count, 1);
  return Buffer.concat([head, ...rest]);
}

function key(value: string): Buffer {
  const head = Buffer.alloc(3, 0xda);
  head.writeUInt16BE(value.length, 1);
  return Buffer.concat([head, Buffer.from(value)]);
}

function list32(count: number): Buffer {
  const head = Buffer.alloc(5, 0xdd);
  head.writeUInt32BE(count, 1);
  return head;
}

export const MSGPACK_ATTACKS: readonly Attack[] = [
  {
    name: 'maps in maps',
    write: (path) =>
      writeFileSync(
        path,
        map(
          2,
          HEAD,
          many(100_000, () => bytes(0xa1, 0x62, 0x81)),
        ),
      ),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'a text of four gibibytes',
    write: (path) => writeFileSync(path, map(2, HEAD, bytes(0xa1, 0x62, 0xdb, 0xff, 0xff, 0xff, 0xff))),
    exit: 1,
    codes: ['MSGPACK_TRUNCATED'],
  },
  { name: 'a map of four billion', write: (path) => writeFileSync(path, map(0xffffffff, HEAD)), exit: 1, codes: ['MSGPACK_TRUNCATED'] },
  {
    name: 'an array of 2^64 elements',
    write: (path) =>
      writeFileSync(
        path,
        map(
          2,
          HEAD,
          bytes(0xa1, 0x62, 0xc7, 26, 1, 0x93, 0x92),
          bytes(0xcf),
          Buffer.alloc(8, 0xff),
          bytes(0xcf),
          Buffer.alloc(8, 0xff),
          bytes(0xa4),
          Buffer.from('int8'),
          bytes(0xc4, 0),
        ),
      ),
    exit: 1,
    codes: ['MSGPACK_ARRAY_SIZE'],
  },
  {
    name: 'three million numbers below long names',
    write: (path) =>
      writeFileSync(
        path,
        map(
          2,
          HEAD,
          ...Array.from({ length: 200 }, (_, i) => Buffer.concat([key(`${i}${'_adam'.repeat(12_000)}`), bytes(0x81)])),
          key('x'),
          list32(3_000_000),
          Buffer.alloc(3_000_000, 1),
        ),
      ),
    exit: 1,
    codes: [],
  },
  {
    name: 'two hundred thousand arrays below long names',
    write: (path) =>
      writeFileSync(
        path,
        map(
          2,
          HEAD,
          ...Array.from({ length: 200 }, (_, i) => Buffer.concat([key(`${i}${'_param'.repeat(10_000)}`), bytes(0x81)])),
          key('x'),
          list32(200_000),
          Buffer.alloc(200_000 * EMPTY_ARRAY.length, Buffer.concat([bytes(0xc7, EMPTY_ARRAY.length - 3, 1), EMPTY_ARRAY.subarray(3)])),
        ),
      ),
    exit: 1,
    codes: [],
  },
];
