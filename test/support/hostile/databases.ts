import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { crc32c, maskCrc32c } from '../../../src/core/checksums.ts';
import type { Attack } from './attack.ts';
import { bytes, many } from './pickle-bytes.ts';

const MIB = 1024 * 1024;

function varint(value: number | bigint): Buffer {
  const encoded: number[] = [];
  let rest = BigInt(value);
  for (; rest >= 0x80n; rest >>= 7n) encoded.push(Number(rest & 0x7fn) | 0x80);
  encoded.push(Number(rest));
  return Buffer.from(encoded);
}

/** A key of a sorted table that shares `shared` bytes with the key before it. */
interface Row {
  readonly shared: number;
  readonly rest: string;
  readonly value: Buffer;
}

function block(rows: Iterable<Row>): Buffer {
  const parts: Buffer[] = [];
  for (const { shared, rest, value } of rows) {
    parts.push(varint(shared), varint(Buffer.byteLength(rest)), varint(value.length), Buffer.from(rest), value);
  }
  return Buffer.concat([...parts, bytes(0, 0, 0, 0, 1, 0, 0, 0)]);
}

function withTrailer(content: Buffer, type = 0): Buffer {
  const trailer = Buffer.from([type, 0, 0, 0, 0]);
  trailer.writeUInt32LE(maskCrc32c(crc32c(trailer.subarray(0, 1), crc32c(content))), 1);
  return Buffer.concat([content, trailer]);
}

/** An index of TensorFlow over ready blocks; `handles` may lie about where they are. */
function table(blocks: readonly Buffer[], handles?: readonly (readonly [number, number])[]): Buffer {
  let at = 0;
  const places = blocks.map((one): readonly [number, number] => {
    const place = [at, one.length - 5] as const;
    at += one.length;
    return place;
  });
  const meta = withTrailer(block([]));
  const index = withTrailer(
    block(
      (handles ?? places).map(([offset, length], i) => ({
        shared: 0,
        rest: String(i).padStart(8, '0'),
        value: Buffer.concat([varint(offset), varint(length)]),
      })),
    ),
  );
  const footer = Buffer.alloc(48);
  Buffer.concat([varint(at), varint(meta.length - 5), varint(at + meta.length), varint(index.length - 5)]).copy(footer);
  Buffer.from('57fb808b247547db', 'hex').copy(footer, 40);
  return Buffer.concat([...blocks, meta, index, footer]);
}

const HEADER: Row = { shared: 0, rest: '', value: Buffer.concat([bytes(0x08), varint(1)]) };

function entry(facts: { offset?: number | bigint; size?: number | bigint; elements?: number; slices?: number }): Buffer {
  const shape = Buffer.concat([bytes(0x12, 2, 0x08), varint(facts.elements ?? 1).subarray(0, 1)]);
  return Buffer.concat([
    bytes(0x08, 1, 0x12, shape.length),
    shape,
    bytes(0x20),
    varint(facts.offset ?? 0),
    bytes(0x28),
    varint(facts.size ?? 4),
    bytes(0x35, 1, 2, 3, 4),
    ...Array.from({ length: facts.slices ?? 0 }, () => bytes(0x3a, 0)),
  ]);
}

function checkpoint(path: string, index: Buffer, dataBytes: number): void {
  mkdirSync(path);
  writeFileSync(join(path, 'ckpt.index'), index);
  const data = openSync(join(path, 'ckpt.data-00000-of-00001'), 'w');
  if (dataBytes > MIB) {
    ftruncateSync(data, dataBytes);
    writeSync(data, Buffer.alloc(MIB, 7), 0, MIB, 0);
  } else writeSync(data, Buffer.alloc(dataBytes, 7));
  closeSync(data);
}

/** Keys of four kilobytes that differ in their last bytes only. */
function* longKeys(count: number, value: Buffer): Generator<Row> {
  const stem = 'k'.repeat(4000);
  yield HEADER;
  for (let i = 0; i < count; i++) {
    const tail = String(i).padStart(6, '0');
    yield i === 0 ? { shared: 0, rest: stem + tail, value } : { shared: stem.length, rest: tail, value };
  }
}

export const TENSORFLOW_ATTACKS: readonly Attack[] = [
  {
    name: 'tensors at 2^64 - 1',
    write: (path) =>
      checkpoint(
        path,
        table([withTrailer(block([HEADER, { shared: 0, rest: 'a', value: entry({ offset: 2n ** 64n - 1n, size: 2n ** 64n - 1n }) }]))]),
        8,
      ),
    exit: 1,
    codes: ['TENSORFLOW_ENTRY_INVALID'],
  },
  {
    name: 'a varint that never ends',
    write: (path) => checkpoint(path, table([withTrailer(Buffer.concat([Buffer.alloc(64, 0xff), bytes(0, 0, 0, 0, 1, 0, 0, 0)]))]), 8),
    exit: 1,
    codes: ['TENSORFLOW_INDEX_CORRUPT'],
  },
  {
    name: 'one block listed a hundred thousand times',
    write: (path) =>
      checkpoint(
        path,
        table(
          [withTrailer(block([HEADER]))],
          Array.from({ length: 100_000 }, () => [0, 16] as const),
        ),
        8,
      ),
    exit: 1,
    codes: ['TENSORFLOW_INDEX_CORRUPT'],
  },
  {
    name: 'a block that says it unfolds to a terabyte',
    write: (path) => checkpoint(path, table([withTrailer(Buffer.concat([varint(2 ** 40), Buffer.alloc(64)]), 1)]), 8),
    exit: 1,
    codes: ['TENSORFLOW_INDEX_CORRUPT'],
  },
  {
    name: 'forty blocks that unfold thirtyfold',
    write(path) {
      // A literal zero, then copies of sixty-four bytes from one byte before.
      const bomb = Buffer.concat([varint(1 + 64 * 250_000), bytes(0, 0), Buffer.alloc(750_000, bytes(0xfe, 1, 0))]);
      checkpoint(path, table(Array.from({ length: 40 }, () => withTrailer(bomb, 1))), 8);
    },
    exit: 1,
    codes: ['TENSORFLOW_INDEX_CORRUPT'],
  },
  {
    name: 'a hundred thousand names of four kilobytes',
    write: (path) => checkpoint(path, table([withTrailer(block(longKeys(100_000, entry({}))))]), 4),
    exit: 1,
    codes: [],
  },
  {
    name: 'a hundred thousand slices of long names',
    write: (path) => checkpoint(path, table([withTrailer(block(longKeys(100_000, entry({ slices: 1 }))))]), 4),
    exit: 1,
    codes: [],
  },
  {
    name: 'thirty thousand tensors over the same gibibyte',
    write(path) {
      const size = 255 * 4;
      const rows = [
        HEADER,
        ...Array.from({ length: 100_000 }, (_, i) => ({
          shared: 0,
          rest: String(i).padStart(6, '0'),
          value: entry({ offset: i, size, elements: 127 }),
        })),
      ];
      checkpoint(path, table([withTrailer(block(rows))]), 1024 * MIB);
    },
    options: ['--deep'],
    exit: 1,
    codes: [],
  },
];

const MAGIC = { manifest: 0x0cdb3a2a, node: 0x0cdb20de } as const;

function frame(kind: keyof typeof MAGIC, body: Buffer, compressed = false): Buffer {
  const content = Buffer.concat([varint(0), varint(compressed ? 1 : 0), compressed ? zstdCompressSync(body) : body]);
  const framed = Buffer.alloc(12 + content.length + 4);
  framed.writeUInt32BE(MAGIC[kind], 0);
  framed.writeBigUInt64LE(BigInt(framed.length), 4);
  content.copy(framed, 12);
  framed.writeUInt32LE(crc32c(framed.subarray(0, framed.length - 4)), framed.length - 4);
  return framed;
}

interface Place {
  readonly offset: number;
  readonly length: number;
}

function dataFiles(path: string): Buffer {
  return Buffer.concat([varint(1), varint(path.length), varint(0), Buffer.from(path)]);
}

function column(values: readonly (number | bigint)[]): Buffer {
  return Buffer.concat(values.map(varint));
}

function manifest(root: Place, height: number, file: string): Buffer {
  const head = Buffer.concat([Buffer.alloc(16), bytes(0), varint(100), varint(1000), bytes(4), varint(0)]);
  const version = Buffer.concat([
    varint(1),
    column([1]),
    bytes(height),
    column([0]),
    column([root.offset]),
    column([root.length]),
    column([1, 1, 1]),
    Buffer.alloc(8),
  ]);
  return frame('manifest', Buffer.concat([head, dataFiles(file), version, varint(0)]));
}

/** An inner node whose children all lie at one place, under keys that rise. */
interface Inner {
  readonly height: number;
  readonly count: number;
  readonly child: Place;
  readonly file?: string;
  readonly keyBytes?: number;
}

function inner({ height, count, child, file = 'd/data', keyBytes = 4 }: Inner): Buffer {
  const keys = Array.from({ length: count }, (_, i) => i.toString(36).padStart(keyBytes, '0'));
  const zeros = Buffer.alloc(count - 1);
  const counts = Buffer.alloc(count * 3);
  return Buffer.concat([
    bytes(height),
    dataFiles(file),
    varint(count),
    zeros,
    column(keys.map((key) => key.length)),
    Buffer.alloc(count),
    Buffer.from(keys.join('')),
    Buffer.alloc(count),
    many(count, () => varint(child.offset)),
    many(count, () => varint(child.length)),
    counts,
  ]);
}

/** A leaf of inline values without bytes. */
function leaf(count: number): Buffer {
  const keys = Array.from({ length: count }, (_, i) => `${i.toString(36).padStart(5, '0')}/.zarray`);
  return Buffer.concat([
    bytes(0),
    varint(0),
    varint(count),
    Buffer.alloc(count - 1),
    column(keys.map((key) => key.length)),
    Buffer.from(keys.join('')),
    Buffer.alloc(count),
    Buffer.alloc(count),
  ]);
}

function database(path: string, data: Buffer, root: Place, height: number): void {
  mkdirSync(join(path, 'd'), { recursive: true });
  writeFileSync(join(path, '_CHECKPOINT_METADATA'), '{}');
  writeFileSync(join(path, '_METADATA'), '{"tree_metadata":{},"use_ocdbt":true}');
  writeFileSync(join(path, 'manifest.ocdbt'), manifest(root, height, 'd/data'));
  writeFileSync(join(path, 'd', 'data'), data);
}

export const OCDBT_ATTACKS: readonly Attack[] = [
  {
    name: 'a node that is its own child',
    write(path) {
      let node = frame('node', inner({ height: 1, count: 1, child: { offset: 0, length: 60 } }));
      for (let i = 0; i < 3; i++) node = frame('node', inner({ height: 1, count: 1, child: { offset: 0, length: node.length } }));
      database(path, node, { offset: 0, length: node.length }, 1);
    },
    exit: 1,
    codes: ['ORBAX_NODE_CORRUPT'],
  },
  {
    name: 'nodes with a thousand children that are one',
    write(path) {
      const parts: Buffer[] = [frame('node', leaf(10))];
      let at = 0;
      for (let height = 1; height <= 5; height++) {
        const below = parts.at(-1) as Buffer;
        parts.push(frame('node', inner({ height, count: 1000, child: { offset: at, length: below.length } })));
        at += below.length;
      }
      database(path, Buffer.concat(parts), { offset: at, length: (parts.at(-1) as Buffer).length }, 5);
    },
    exit: 1,
    codes: ['ORBAX_NODE_CORRUPT'],
  },
  {
    name: 'a hundred thousand children that are one damaged node of thirty megabytes',
    write(path) {
      const damaged = Buffer.alloc(30 * MIB, 1);
      damaged.writeUInt32BE(MAGIC.node, 0);
      damaged.writeBigUInt64LE(BigInt(damaged.length), 4);
      const root = frame('node', inner({ height: 1, count: 99_000, child: { offset: 0, length: damaged.length } }));
      database(path, Buffer.concat([damaged, root]), { offset: damaged.length, length: root.length }, 1);
    },
    exit: 1,
    codes: ['ORBAX_NODE_CORRUPT'],
  },
  {
    name: 'a node that unfolds to a quarter of a gibibyte',
    write(path) {
      const node = frame('node', Buffer.alloc(256 * MIB), true);
      database(path, node, { offset: 0, length: node.length }, 0);
    },
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'a hundred thousand children below a path of four kilobytes',
    write(path) {
      const root = frame('node', inner({ height: 1, count: 99_000, child: { offset: 5, length: 5 }, file: `d/${'p'.repeat(4000)}` }));
      database(path, root, { offset: 0, length: root.length }, 1);
    },
    exit: 1,
    codes: ['FILE_MISSING'],
  },
  {
    name: 'children below keys of ten kilobytes',
    write(path) {
      const root = frame('node', inner({ height: 1, count: 3000, child: { offset: 5, length: 5 }, keyBytes: 10_000 }));
      database(path, root, { offset: 0, length: root.length }, 1);
    },
    exit: 1,
    codes: [],
  },
  {
    name: 'three hundred thousand keys in a leaf',
    write(path) {
      const node = frame('node', leaf(300_000), true);
      database(path, node, { offset: 0, length: node.length }, 0);
    },
    exit: 1,
    codes: [],
  },
];
