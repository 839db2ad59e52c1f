import type { ChunkElements } from './chunk-elements.ts';
import type { Fields } from './field-widths.ts';
import { isBitSet } from './fixed-array.ts';
import type { Image } from './file-image.ts';

/**
 * How the array grows, from its header: data blocks double in size, and so do the super blocks that
 * lead to them.
 */
interface Growth {
  readonly address: number;
  readonly client: number;
  readonly elementBytes: number;
  readonly indexElements: number;
  readonly minBlockElements: number;
  readonly minBlocks: number;
  readonly pageElements: number;
  readonly superBlocks: number;
  /** Bytes of an offset in the array. */
  readonly offsetBytes: number;
}

const WHAT = 'a block of an extensible array';

/** Visits the chunks that an extensible array points to. */
export function walkExtensibleArray(image: Image, address: number, elements: ChunkElements): void {
  const { widths } = image;
  const fields = image.checkedFields(address, 16 + 6 * widths.length + widths.address, 'the header of an extensible array');
  fields.signature('EAHD');
  fields.version(0);
  const growth = readGrowth(fields, address);
  elements.demandSize(fields, growth.client, growth.elementBytes);
  fields.skip(6 * widths.length);
  const index = fields.address();
  if (index !== null) readIndexBlock(image, index, growth, elements);
}

function readGrowth(fields: Fields, address: number): Growth {
  const client = fields.u8();
  const elementBytes = fields.u8();
  const maxBits = fields.u8();
  const indexElements = fields.u8();
  const minBlockElements = fields.u8();
  const minBlocks = fields.u8();
  const pageBits = fields.u8();
  const arePowers = [minBlockElements, minBlocks].every((value) => value > 0 && Number.isInteger(Math.log2(value)));
  if (!arePowers || maxBits > 64 || pageBits > 32) fields.fail('its sizes are impossible');
  const superBlocks = 1 + maxBits - Math.log2(minBlockElements);
  const offsetBytes = Math.ceil(maxBits / 8);
  return {
    address,
    client,
    elementBytes,
    indexElements,
    minBlockElements,
    minBlocks,
    pageElements: 2 ** pageBits,
    superBlocks,
    offsetBytes,
  };
}

/** Returns how many data blocks a super block leads to, and how many elements each holds. */
function superBlockShape(growth: Growth, index: number): { readonly blocks: number; readonly elements: number } {
  return { blocks: 2 ** Math.floor(index / 2), elements: growth.minBlockElements * 2 ** Math.floor((index + 1) / 2) };
}

/**
 * Reads the index block: the first elements, then the addresses of the first data blocks and of the
 * super blocks.
 */
function readIndexBlock(image: Image, address: number, growth: Growth, elements: ChunkElements): void {
  const addressBytes = image.widths.address;
  const direct = 2 * Math.log2(growth.minBlocks);
  const directBlocks = 2 * (growth.minBlocks - 1);
  const superBlocks = Math.max(growth.superBlocks - direct, 0);
  const length = 10 + addressBytes + growth.indexElements * growth.elementBytes + (directBlocks + superBlocks) * addressBytes;
  const fields = image.checkedFields(address, length, WHAT);
  readHead(fields, 'EAIB', growth);
  image.budget.spend('entries', growth.indexElements + directBlocks + superBlocks);
  elements.read(fields, growth.client, growth.indexElements);
  for (let index = 0; index < direct; index++) {
    const shape = superBlockShape(growth, index);
    for (let i = 0; i < shape.blocks; i++) {
      const block = fields.address();
      if (block !== null) readDataBlock(image, block, { growth, elements: shape.elements, pageMap: null }, elements);
    }
  }
  for (let index = direct; index < growth.superBlocks; index++) {
    const block = fields.address();
    if (block !== null) readSuperBlock(image, block, { growth, index }, elements);
  }
}

function readSuperBlock(
  image: Image,
  address: number,
  { growth, index }: { readonly growth: Growth; readonly index: number },
  elements: ChunkElements,
): void {
  const shape = superBlockShape(growth, index);
  const pages = shape.elements > growth.pageElements ? shape.elements / growth.pageElements : 0;
  const mapBytes = shape.blocks * Math.ceil(pages / 8);
  image.budget.spend('entries', shape.blocks);
  const length = 10 + image.widths.address + growth.offsetBytes + mapBytes + shape.blocks * image.widths.address;
  const fields = image.checkedFields(address, length, WHAT);
  readHead(fields, 'EASB', growth);
  fields.skip(growth.offsetBytes);
  const map = fields.bytes(mapBytes);
  for (let i = 0; i < shape.blocks; i++) {
    const block = fields.address();
    const pageMap = pages > 0 ? { map, first: i * pages, pages } : null;
    if (block !== null) readDataBlock(image, block, { growth, elements: shape.elements, pageMap }, elements);
  }
}

interface DataBlock {
  readonly growth: Growth;
  readonly elements: number;
  /** Which pages of the block were ever written; null when the block has no pages. */
  readonly pageMap: { readonly map: Buffer; readonly first: number; readonly pages: number } | null;
}

function readDataBlock(image: Image, address: number, block: DataBlock, elements: ChunkElements): void {
  const { growth, pageMap } = block;
  const prefix = 10 + image.widths.address + growth.offsetBytes;
  const fields = image.checkedFields(address, prefix + (pageMap === null ? block.elements * growth.elementBytes : 0), WHAT);
  readHead(fields, 'EADB', growth);
  fields.skip(growth.offsetBytes);
  if (pageMap === null) {
    image.budget.spend('entries', block.elements);
    elements.read(fields, growth.client, block.elements);
    return;
  }
  const pageBytes = growth.pageElements * growth.elementBytes + 4;
  for (let page = 0; page < pageMap.pages; page++) {
    image.budget.spend('entries');
    if (!isBitSet(pageMap.map, pageMap.first + page)) continue;
    image.budget.spend('entries', growth.pageElements);
    elements.read(image.checkedFields(address + prefix + page * pageBytes, pageBytes, WHAT), growth.client, growth.pageElements);
  }
}

function readHead(fields: Fields, signature: string, growth: Growth): void {
  fields.signature(signature);
  fields.version(0);
  if (fields.u8() !== growth.client || fields.address() !== growth.address) fields.fail('it belongs to another array');
}
