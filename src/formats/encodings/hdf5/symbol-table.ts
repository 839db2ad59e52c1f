import { Fields } from './field-widths.ts';
import type { Image } from './file-image.ts';
import type { Link } from './link.ts';
import type { Message } from './object-header.ts';
import { walkTree1 } from './tree-1.ts';

const GROUP_TREE = 0;
const SOFT_LINK = 2;

/**
 * Visits the members of a group of the older kind: a B-tree leads to tables of entries, and a heap
 * holds their names.
 */
export function walkSymbolTable(image: Image, { data, at }: Message, visit: (link: Link) => void): void {
  const fields: Fields = new Fields(data, image.widths, 'the symbol table of a group', at);
  const tree = fields.address();
  const heap = fields.address();
  if (tree === null || heap === null) fields.fail('it leads nowhere');
  const names = readNames(image, heap);
  walkTree1(image, { address: tree, kind: GROUP_TREE, keyBytes: image.widths.length }, (_, table) => readTable(image, table, names, visit));
}

function readNames(image: Image, address: number): Buffer {
  const fields = image.fields(address, 8 + 2 * image.widths.length + image.widths.address, 'the heap of a group');
  fields.signature('HEAP');
  fields.version(0);
  fields.skip(3);
  const size = fields.length();
  fields.skip(image.widths.length);
  const data = fields.address() ?? fields.fail('its data lies nowhere');
  const bytes = image.read(data, size, 'the names of a group');
  image.extents.claim(image.at(data), size, 'the names of a group');
  return bytes;
}

function readTable(image: Image, address: number, names: Buffer, visit: (link: Link) => void): void {
  const entryBytes = image.widths.length + image.widths.address + 24;
  const count = image.read(address, 8, 'a symbol table').readUInt16LE(6);
  const fields = image.fields(address, 8 + count * entryBytes, 'a symbol table');
  fields.signature('SNOD');
  fields.version(1);
  fields.skip(3);
  image.budget.spend('entries', count);
  for (let i = 0; i < count; i++) {
    const nameAt = fields.length();
    const target = fields.address();
    const cache = fields.u32();
    fields.skip(20);
    const name = nameIn(image, names, nameAt, fields);
    if (cache === SOFT_LINK) visit({ name, target: 'soft' });
    else visit({ name, target: target ?? fields.fail(`its member ${i} leads nowhere`) });
  }
}

function nameIn(image: Image, names: Buffer, at: number, fields: Fields): string {
  const end = at < names.length ? names.indexOf(0, at) : -1;
  if (end < 0) fields.fail(`the name of a member is not in the heap of its group`);
  image.budget.spend('bytes of names', end - at);
  return names.toString('utf8', at, end);
}
