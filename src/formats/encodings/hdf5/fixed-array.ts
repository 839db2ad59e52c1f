import { Fault } from '../../reading/fault.ts';
import type { ChunkElements } from './chunk-elements.ts';
import type { Image } from './file-image.ts';

interface Header {
  readonly address: number;
  readonly client: number;
  readonly elementBytes: number;
  readonly pageElements: number;
  readonly count: number;
}

/** Visits the chunks that a fixed array points to; it has one element for each possible chunk. */
export function walkFixedArray(image: Image, address: number, elements: ChunkElements): void {
  const { widths } = image;
  const fields = image.checkedFields(address, 12 + widths.length + widths.address, 'the header of a fixed array');
  fields.signature('FAHD');
  fields.version(0);
  const client = fields.u8();
  const elementBytes = fields.u8();
  const pageBits = fields.u8();
  const count = fields.length();
  const data = fields.address();
  elements.demandSize(fields, client, elementBytes);
  if (pageBits > 32) fields.fail(`its pages have 2^${pageBits} elements`);
  if (data === null) return;
  image.budget.spend('entries', count);
  readDataBlock(image, data, { address, client, elementBytes, pageElements: 2 ** pageBits, count }, elements);
}

function readDataBlock(image: Image, address: number, header: Header, elements: ChunkElements): void {
  const what = 'the data of a fixed array';
  const isPaged = header.count > header.pageElements;
  const pages = isPaged ? Math.ceil(header.count / header.pageElements) : 0;
  const headBytes = 6 + image.widths.address;
  const mapBytes = Math.ceil(pages / 8);
  const length = headBytes + mapBytes + (isPaged ? 0 : header.count * header.elementBytes) + 4;
  const fields = image.checkedFields(address, length, what);
  fields.signature('FADB');
  fields.version(0);
  if (fields.u8() !== header.client || fields.address() !== header.address) fields.fail('it belongs to another array');
  if (!isPaged) {
    elements.read(fields, header.client, header.count);
    return;
  }
  const map = fields.bytes(mapBytes);
  const pageBytes = header.pageElements * header.elementBytes + 4;
  for (let page = 0; page < pages; page++) {
    if (!isBitSet(map, page)) continue;
    const count = Math.min(header.pageElements, header.count - page * header.pageElements);
    const at = address + length + page * pageBytes;
    if (!Number.isSafeInteger(at)) throw new Fault('HDF5_STRUCTURE_INVALID', `${what} has impossible pages`, { offset: image.at(address) });
    elements.read(image.checkedFields(at, count * header.elementBytes + 4, what), header.client, count);
  }
}

/** Bits count from the highest bit of the first byte. */
export function isBitSet(map: Buffer, index: number): boolean {
  return ((map[index >> 3] ?? 0) & (0x80 >> (index & 7))) !== 0;
}
