import { writeFileSync } from 'node:fs';
import type { Attack } from './attack.ts';
import { many, repeat } from './pickle-bytes.ts';

const NOWHERE = Buffer.alloc(8, 0xff);
const ROOT = 96;

function u16(value: number): Buffer {
  const encoded = Buffer.alloc(2);
  encoded.writeUInt16LE(value);
  return encoded;
}

function u32(value: number): Buffer {
  const encoded = Buffer.alloc(4);
  encoded.writeUInt32LE(value);
  return encoded;
}

function u64(value: number): Buffer {
  const encoded = Buffer.alloc(8);
  encoded.writeBigUInt64LE(BigInt(value));
  return encoded;
}

/** A message of an object header of version 1. */
function message(type: number, data: Buffer): Buffer {
  return Buffer.concat([u16(type), u16(data.length), Buffer.alloc(4), data]);
}

function objectHeader(messages: Buffer): Buffer {
  return Buffer.concat([Buffer.from([1, 0]), u16(0), u32(1), u32(messages.length), Buffer.alloc(4), messages]);
}

/**
 * A file of the oldest kind whose root group's header stands right behind the superblock, and then
 * `rest`.
 */
function file(rootMessages: Buffer, rest: Buffer = Buffer.alloc(0)): Buffer {
  const root = objectHeader(rootMessages);
  const end = ROOT + root.length + rest.length;
  const superblock = Buffer.concat([
    Buffer.from('894844460d0a1a0a', 'hex'),
    Buffer.from([0, 0, 0, 0, 0, 8, 8, 0]),
    u16(4),
    u16(16),
    u32(0),
    u64(0),
    NOWHERE,
    u64(end),
    NOWHERE,
    u64(0),
    u64(ROOT),
    u32(0),
    Buffer.alloc(20),
  ]);
  return Buffer.concat([superblock, root, rest]);
}

/** A hard link with a name of one byte. */
function link(name: string, address: number): Buffer {
  return message(6, Buffer.concat([Buffer.from([1, 0, name.length]), Buffer.from(name), u64(address)]));
}

function symbolTable(tree: number, heap: number): Buffer {
  return message(0x11, Buffer.concat([u64(tree), u64(heap)]));
}

function treeNode(level: number, count: number, child: number): Buffer {
  const head = Buffer.concat([Buffer.from('TREE'), Buffer.from([0, level]), u16(count), NOWHERE, NOWHERE]);
  return Buffer.concat([head, many(count, () => Buffer.concat([u64(0), u64(child)])), u64(0)]);
}

function nameHeap(address: number): Buffer {
  return Buffer.concat([Buffer.from('HEAP'), Buffer.alloc(4), u64(8), u64(0), u64(address + 32), Buffer.from('a\0\0\0\0\0\0\0')]);
}

/** A chunked dataset whose shape needs more chunks than there is room for. */
function chunked(layout: Buffer): Buffer {
  const space = message(1, Buffer.concat([Buffer.from([1, 1, 0, 0, 0, 0, 0, 0]), u64(2 ** 52)]));
  const type = message(3, Buffer.concat([Buffer.from([0x11, 0x20, 0x1f, 0]), u32(4), Buffer.alloc(12)]));
  return objectHeader(Buffer.concat([space, type, message(8, layout)]));
}

function attack(name: string, make: () => Buffer, ...codes: readonly string[]): Attack {
  return { name, exit: 1, codes, write: (path) => writeFileSync(path, make()) };
}

export const HDF5_ATTACKS: readonly Attack[] = [
  attack('a group that is its own member', () => file(link('a', ROOT)), 'HDF5_EMPTY'),
  attack('a header that goes on in itself', () => file(message(0x10, Buffer.concat([u64(ROOT + 16), u64(24)])))),
  attack('a header of four million messages', () => file(Buffer.alloc(30_000_000, Buffer.concat([u16(1), u16(0), Buffer.alloc(4)])))),
  attack('a header of two hundred thousand links', () => file(repeat(link('a', ROOT), 200_000))),
  attack(
    'a tree that leads back into itself',
    () => {
      const at = ROOT + 16 + 24;
      const node = treeNode(1, 1, at);
      return file(symbolTable(at, at + node.length), Buffer.concat([node, nameHeap(at + node.length)]));
    },
    'HDF5_STRUCTURE_INVALID',
  ),
  attack('a tree of sixty thousand children that are one', () => {
    const at = ROOT + 16 + 24;
    const node = treeNode(0, 65_535, at);
    const table = Buffer.concat([
      Buffer.from('SNOD'),
      Buffer.from([1, 0]),
      u16(60_000),
      many(60_000, (i) => Buffer.concat([u64(0), u64(ROOT + i * 24), u32(0), Buffer.alloc(20)])),
    ]);
    const nodeWithTable = treeNode(0, 65_535, at + node.length + 40);
    return file(symbolTable(at, at + node.length), Buffer.concat([nodeWithTable, nameHeap(at + node.length), table]));
  }),
  attack('more chunks than a number holds', () =>
    file(link('a', ROOT + 16 + 20), chunked(Buffer.concat([Buffer.from([4, 2, 0, 2, 1, 1, 4, 2]), u64(ROOT)]))),
  ),
  attack('members in a hundred thousand places', () => file(many(100_000, (i) => link('a', ROOT + 16 + i * 20)))),
];
