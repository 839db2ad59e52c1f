import { Fault } from '../../reading/fault.ts';
import { Fields } from './field-widths.ts';
import type { Image } from './file-image.ts';
import { lookup3 } from './lookup3.ts';
import { bytesFor } from './tree-2.ts';

const MAX_DIRECT_BYTES = 1024 * 1024;
const MAX_CACHED_BYTES = 16 * 1024 * 1024;
const MANAGED = 0;
const TINY = 2;

/** Sizes of a heap, from its header. */
interface Shape {
  readonly address: number;
  readonly width: number;
  readonly firstBlockBytes: number;
  readonly maxDirectBytes: number;
  readonly offsetBytes: number;
  readonly lengthBytes: number;
  readonly hasChecksums: boolean;
}

interface DirectBlock {
  readonly address: number;
  /** Start of the block in the heap's own space. */
  readonly offset: number;
  readonly size: number;
}

/** A heap that holds the links or attributes of an object with many of them. */
export class FractalHeap {
  readonly #image: Image;
  readonly #shape: Shape;
  readonly #blocks: DirectBlock[] = [];
  readonly #cache = new Map<number, Buffer>();
  #cachedBytes = 0;

  constructor(image: Image, address: number) {
    this.#image = image;
    const { shape, root, rows } = readHeader(image, address);
    this.#shape = shape;
    if (root === null) return;
    if (rows === 0) this.#blocks.push({ address: root, offset: 0, size: shape.firstBlockBytes });
    else this.#collect(root, rows);
    this.#blocks.sort((a, b) => a.offset - b.offset);
  }

  /** Returns the object of an id, and its place in the source. */
  object(id: Buffer): { readonly bytes: Buffer; readonly at: number } {
    const flags = id[0] ?? 0;
    const kind = (flags >> 4) & 3;
    if (kind === TINY) return { bytes: id.subarray(1, 2 + (flags & 0x0f)), at: this.#image.at(this.#shape.address) };
    if (kind !== MANAGED)
      throw new Fault('HDF5_UNSUPPORTED', 'a link or an attribute is so large that it lies outside its heap', {
        offset: this.#image.at(this.#shape.address),
      });
    const fields: Fields = new Fields(id, this.#image.widths, 'a heap id', this.#image.at(this.#shape.address));
    fields.skip(1);
    const offset = fields.uint(this.#shape.offsetBytes);
    const length = fields.uint(this.#shape.lengthBytes);
    const block = this.#find(offset);
    if (block === null || offset - block.offset + length > block.size) fields.fail('it points outside the heap');
    const start = offset - block.offset;
    return { bytes: this.#read(block).subarray(start, start + length), at: this.#image.at(block.address) + start };
  }

  #find(offset: number): DirectBlock | null {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const block = this.#blocks[middle] as DirectBlock;
      if (offset < block.offset) high = middle - 1;
      else if (offset >= block.offset + block.size) low = middle + 1;
      else return block;
    }
    return null;
  }

  #read(block: DirectBlock): Buffer {
    const cached = this.#cache.get(block.address);
    if (cached !== undefined) return cached;
    const bytes = readDirectBlock(this.#image, this.#shape, block);
    if (this.#cachedBytes + bytes.length > MAX_CACHED_BYTES) {
      this.#cache.clear();
      this.#cachedBytes = 0;
    }
    this.#cache.set(block.address, bytes);
    this.#cachedBytes += bytes.length;
    return bytes;
  }

  /**
   * Collects the direct blocks below an indirect one. Blocks double in size from row to row after
   * the second.
   */
  #collect(root: number, rootRows: number): void {
    const pending = [{ address: root, rows: rootRows, offset: 0 }];
    const seen = new Set<number>();
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (seen.has(next.address))
        throw new Fault('HDF5_STRUCTURE_INVALID', 'a heap leads back into itself', { offset: this.#image.at(next.address) });
      seen.add(next.address);
      for (const child of readIndirectBlock(this.#image, this.#shape, next)) {
        this.#image.budget.spend('entries');
        if (child.rows === 0) this.#blocks.push(child);
        else pending.push(child);
      }
    }
  }
}

function readHeader(image: Image, address: number): { readonly shape: Shape; readonly root: number | null; readonly rows: number } {
  const { widths } = image;
  const fields = image.checkedFields(address, 26 + 12 * widths.length + 3 * widths.address, 'the header of a heap');
  fields.signature('FRHP');
  fields.version(0);
  fields.skip(2);
  if (fields.u16() !== 0) throw new Fault('HDF5_UNSUPPORTED', 'a heap of links or attributes is compressed', { offset: image.at(address) });
  const hasChecksums = (fields.u8() & 2) !== 0;
  const maxManagedBytes = fields.u32();
  fields.skip(2 * (widths.length + widths.address) + 8 * widths.length);
  const width = fields.u16();
  const firstBlockBytes = fields.length();
  const maxDirectBytes = fields.length();
  const maxHeapBits = fields.u16();
  fields.skip(2);
  const root = fields.address();
  const rows = fields.u16();
  const areSizes = [width, firstBlockBytes, maxDirectBytes].every((size) => size > 0 && Number.isInteger(Math.log2(size)));
  if (!areSizes || firstBlockBytes > maxDirectBytes || maxHeapBits > 64 || rows > 64) fields.fail('its sizes are impossible');
  if (maxDirectBytes > MAX_DIRECT_BYTES)
    throw new Fault('LIMIT_EXCEEDED', `a heap has blocks of up to ${maxDirectBytes} bytes`, { offset: image.at(address) });
  const lengthBytes = Math.min(bytesFor(maxDirectBytes), bytesFor(maxManagedBytes));
  const shape = { address, width, firstBlockBytes, maxDirectBytes, offsetBytes: Math.ceil(maxHeapBits / 8), lengthBytes, hasChecksums };
  return { shape, root, rows };
}

interface Child extends DirectBlock {
  /** Rows of an indirect block, 0 for a direct one. */
  readonly rows: number;
}

function readIndirectBlock(
  image: Image,
  shape: Shape,
  block: { readonly address: number; readonly rows: number; readonly offset: number },
): Child[] {
  const entries = block.rows * shape.width;
  const length = 9 + image.widths.address + shape.offsetBytes + entries * image.widths.address;
  const fields = image.checkedFields(block.address, length, 'a block of a heap');
  readBlockHead(fields, 'FHIB', shape, block.offset);
  const children: Child[] = [];
  for (let i = 0, offset = block.offset; i < entries; i++) {
    const row = Math.floor(i / shape.width);
    const size = shape.firstBlockBytes * 2 ** Math.max(row - 1, 0);
    const address = fields.address();
    const rows = size <= shape.maxDirectBytes ? 0 : Math.log2(size) - Math.log2(shape.firstBlockBytes * shape.width) + 1;
    if (address !== null) children.push({ address, offset, size, rows });
    offset += size;
  }
  return children;
}

function readDirectBlock(image: Image, shape: Shape, { address, offset, size }: DirectBlock): Buffer {
  const what = 'a block of a heap';
  const bytes = image.read(address, size, what);
  const fields = new Fields(bytes, image.widths, what, image.at(address));
  readBlockHead(fields, 'FHDB', shape, offset);
  image.extents.claim(image.at(address), size, what);
  if (shape.hasChecksums) {
    // The checksum lies inside the block that it covers, and counts as zero there.
    const at = fields.position;
    const stored = fields.u32();
    const copy = Buffer.from(bytes);
    copy.fill(0, at, at + 4);
    image.compare(stored, lookup3(copy), address, what);
  }
  return bytes;
}

function readBlockHead(fields: Fields, signature: string, shape: Shape, offset: number): void {
  fields.signature(signature);
  fields.version(0);
  if (fields.address() !== shape.address) fields.fail('it belongs to another heap');
  if (fields.uint(shape.offsetBytes) !== offset) fields.fail('it belongs to another place in its heap');
}
