import { Fault } from '../../reading/fault.ts';
import type { Image } from './file-image.ts';

/** The place and kind of a version 2 B-tree. */
export interface Tree2 {
  /** Address of the header. */
  readonly address: number;
  /** The expected kinds of record. */
  readonly kinds: readonly number[];
}

interface Shape {
  readonly kind: number;
  readonly nodeBytes: number;
  readonly recordBytes: number;
  /** Bytes of a pointer to a child, by the depth of its node; none at depth 0, the leaves. */
  readonly pointerBytes: readonly number[];
  /** Bytes of the number of records inside such a pointer. */
  readonly countBytes: number;
}

interface Pending {
  readonly address: number;
  readonly records: number;
  readonly depth: number;
}

/** Bytes besides the records: signature, version, kind and checksum. */
const OVERHEAD = 10;
const MAX_DEPTH = 64;

/**
 * Visits the records of a version 2 B-tree, including the inner nodes, and verifies every node's
 * checksum.
 */
export function walkTree2(image: Image, tree: Tree2, visit: (record: Buffer, kind: number) => void): void {
  const { shape, root } = readHeader(image, tree);
  if (root === null) return;
  const seen = new Set<number>();
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (seen.has(node.address))
      throw new Fault('HDF5_STRUCTURE_INVALID', 'a B-tree leads back into itself', { offset: image.at(node.address) });
    seen.add(node.address);
    image.budget.spend('entries', 1 + node.records);
    readNode(image, shape, node, { visit, pending });
  }
}

function readHeader(image: Image, { address, kinds }: Tree2): { readonly shape: Shape; readonly root: Pending | null } {
  const { widths } = image;
  const fields = image.checkedFields(address, 22 + widths.address + widths.length, 'the header of a B-tree');
  fields.signature('BTHD');
  fields.version(0);
  const kind = fields.u8();
  if (!kinds.includes(kind)) fields.fail(`its records are of kind ${kind}, expected is ${kinds.join(' or ')}`);
  const nodeBytes = fields.u32();
  const recordBytes = fields.u16();
  const depth = fields.u16();
  fields.skip(2);
  const root = fields.address();
  const records = fields.u16();
  if (recordBytes === 0 || nodeBytes < OVERHEAD + recordBytes || depth > MAX_DEPTH)
    fields.fail(`its nodes of ${nodeBytes} bytes cannot hold it`);
  const shape = { kind, nodeBytes, recordBytes, ...pointerSizes(nodeBytes, recordBytes, depth, widths.address) };
  return { shape, root: root === null ? null : { address: root, records, depth } };
}

/**
 * Computes the sizes of the pointers. A pointer holds the address of a child and the number of its
 * records. Above the lowest inner nodes it also holds the number of all records below. Both numbers
 * take as many bytes as their largest possible value, so they follow from the size of a node.
 */
function pointerSizes(
  nodeBytes: number,
  recordBytes: number,
  depth: number,
  addressBytes: number,
): Pick<Shape, 'pointerBytes' | 'countBytes'> {
  let most = Math.floor((nodeBytes - OVERHEAD) / recordBytes);
  const countBytes = bytesFor(most);
  const pointerBytes = [0];
  for (let level = 1; level <= depth; level++) {
    const pointer = addressBytes + countBytes + (level === 1 ? 0 : bytesFor(most));
    pointerBytes.push(pointer);
    const own = Math.floor((nodeBytes - OVERHEAD - pointer) / (recordBytes + pointer));
    most = (own + 1) * most + own;
  }
  return { pointerBytes, countBytes };
}

/** Returns how many bytes hold every number up to `limit`. */
export function bytesFor(limit: number): number {
  return Math.floor(Math.log2(Math.max(limit, 1)) / 8) + 1;
}

interface Walk {
  readonly visit: (record: Buffer, kind: number) => void;
  readonly pending: Pending[];
}

function readNode(image: Image, shape: Shape, { address, records, depth }: Pending, { visit, pending }: Walk): void {
  const { kind, recordBytes, nodeBytes, countBytes } = shape;
  const pointer = shape.pointerBytes[depth] ?? 0;
  const length = OVERHEAD + records * recordBytes + (depth > 0 ? (records + 1) * pointer : 0);
  if (length > nodeBytes)
    throw new Fault('HDF5_STRUCTURE_INVALID', `a B-tree node of ${nodeBytes} bytes is said to hold ${records} records`, {
      offset: image.at(address),
    });
  const fields = image.checkedFields(address, length, 'a B-tree node');
  fields.signature(depth > 0 ? 'BTIN' : 'BTLF');
  fields.version(0);
  if (fields.u8() !== kind) fields.fail('its records are of another kind than its header says');
  for (let i = 0; i < records; i++) visit(fields.bytes(recordBytes), kind);
  if (depth === 0) return;
  for (let i = 0; i <= records; i++) {
    const child = fields.address() ?? fields.fail('a child lies nowhere');
    pending.push({ address: child, records: fields.uint(countBytes), depth: depth - 1 });
    fields.skip(pointer - image.widths.address - countBytes);
  }
}
