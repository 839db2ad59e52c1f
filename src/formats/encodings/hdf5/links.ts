import { walkDense } from './dense.ts';
import { Fields } from './field-widths.ts';
import type { Image } from './file-image.ts';
import type { Link } from './link.ts';
import { MESSAGE, type Message } from './object-header.ts';
import { walkSymbolTable } from './symbol-table.ts';

const NAME_INDEX = 5;
const MAX_NAME_BYTES = 64 * 1024;

/**
 * Visits the members of the group whose header holds these messages. Throws a {@link Fault} when it
 * cannot find them.
 */
export function walkLinks(image: Image, messages: readonly Message[], visit: (link: Link) => void): void {
  for (const message of messages) {
    if (message.type === MESSAGE.symbolTable) walkSymbolTable(image, message, visit);
    else if (message.type === MESSAGE.link) visit(readLink(image, message.data, message.at));
    else if (message.type === MESSAGE.linkInfo) walkDenseLinks(image, message, visit);
  }
}

/** Returns true when the header belongs to a group. */
export function isGroup(messages: readonly Message[]): boolean {
  return messages.some(({ type }) => type === MESSAGE.symbolTable || type === MESSAGE.link || type === MESSAGE.linkInfo);
}

function walkDenseLinks(image: Image, { data, at }: Message, visit: (link: Link) => void): void {
  const fields = new Fields(data, image.widths, 'the index of a group', at);
  fields.version(0);
  if (fields.u8() & 1) fields.skip(8);
  const heap = fields.address();
  const index = fields.address();
  if (heap === null || index === null) return;
  // A record is the hash of the name, then the place in the heap.
  walkDense(image, { heap, index, kind: NAME_INDEX, idAt: 4 }, (bytes, start) => visit(readLink(image, bytes, start)));
}

function readLink(image: Image, bytes: Buffer, at: number): Link {
  const fields = new Fields(bytes, image.widths, 'a link', at);
  fields.version(1);
  const flags = fields.u8();
  const kind = flags & 8 ? fields.u8() : 0;
  if (flags & 4) fields.skip(8);
  if (flags & 16) fields.skip(1);
  const nameBytes = fields.uint(1 << (flags & 3));
  if (nameBytes > MAX_NAME_BYTES) fields.fail(`its name has ${nameBytes} bytes`);
  image.budget.spend('bytes of names', nameBytes);
  const name = fields.bytes(nameBytes).toString('utf8');
  if (kind !== 0) return { name, target: kind === 1 ? 'soft' : 'external' };
  return { name, target: fields.address() ?? fields.fail(`it leads nowhere`) };
}
