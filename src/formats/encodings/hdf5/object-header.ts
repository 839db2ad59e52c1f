import { Fault } from '../../reading/fault.ts';
import { Fields } from './field-widths.ts';
import type { Image } from './file-image.ts';

/** The messages that the reader uses, by their numbers in the format. */
export const MESSAGE = {
  dataspace: 0x01,
  linkInfo: 0x02,
  datatype: 0x03,
  link: 0x06,
  externalFiles: 0x07,
  layout: 0x08,
  filters: 0x0b,
  attribute: 0x0c,
  continuation: 0x10,
  symbolTable: 0x11,
  attributeInfo: 0x15,
} as const;

/** One message of an object header. */
export interface Message {
  readonly type: number;
  readonly isShared: boolean;
  readonly data: Buffer;
  /** Offset of the data in the source. */
  readonly at: number;
}

interface Block {
  readonly address: number;
  readonly length: number;
}

const WHAT = 'an object header';

/**
 * Returns all messages of the object at an address, including its continuation blocks. Throws a
 * {@link Fault}.
 */
export function readObjectHeader(image: Image, address: number): Message[] {
  const start = image.read(address, 6, WHAT);
  if (start.toString('latin1', 0, 4) === 'OHDR') return readNew(image, address);
  if (start[0] === 1) return readOld(image, address);
  throw new Fault('HDF5_STRUCTURE_INVALID', `there is no object header at byte ${image.at(address)}, where one should be`, {
    offset: image.at(address),
    expected: '01 or OHDR',
    found: start.toString('hex'),
  });
}

/** Reads version 1: a count of messages and the size of the first block, no checksum. */
function readOld(image: Image, address: number): Message[] {
  const prefix = image.fields(address, 16, WHAT);
  prefix.skip(8);
  const first = { address: address + 16, length: prefix.u32() };
  return readBlocks(image, first, (block) => ({
    fields: image.fields(block.address, block.length, WHAT),
    headBytes: 8,
    read: readOldHead,
  }));
}

/** Reads version 2: each block carries a signature and a checksum. */
function readNew(image: Image, address: number): Message[] {
  const flags = image.read(address, 6, WHAT).readUInt8(5);
  const sizeAt = 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
  const sizeBytes = 1 << (flags & 3);
  const prefixBytes = sizeAt + sizeBytes;
  const prefix = new Fields(image.read(address, prefixBytes, WHAT), image.widths, WHAT, image.at(address));
  prefix.signature('OHDR');
  prefix.version(2);
  prefix.skip(sizeAt - 5);
  const first = { address, length: prefixBytes + prefix.uint(sizeBytes) + 4 };
  const hasOrder = (flags & 0x04) !== 0;
  return readBlocks(image, first, (block) => {
    const fields = image.checkedFields(block.address, block.length, WHAT);
    if (block === first) fields.skip(prefixBytes);
    else fields.signature('OCHK');
    return {
      fields,
      headBytes: hasOrder ? 6 : 4,
      read: () => readNewHead(fields, hasOrder),
    };
  });
}

interface MessageHead {
  readonly type: number;
  readonly size: number;
  readonly flags: number;
}

function readOldHead(fields: Fields): MessageHead {
  const head = { type: fields.u16(), size: fields.u16(), flags: fields.u8() };
  fields.skip(3);
  return head;
}

function readNewHead(fields: Fields, hasOrder: boolean): MessageHead {
  const head = { type: fields.u8(), size: fields.u16(), flags: fields.u8() };
  if (hasOrder) fields.skip(2);
  return head;
}

interface OpenBlock {
  readonly fields: Fields;
  readonly headBytes: number;
  readonly read: (fields: Fields) => MessageHead;
}

/**
 * The largest message count that a version 1 header can give. Each message stays in memory while
 * the walk inspects its object.
 */
const MOST_MESSAGES = 65_535;

function tooMany(image: Image, { address }: Block): Fault {
  return new Fault('LIMIT_EXCEEDED', `${WHAT} has more than ${MOST_MESSAGES} messages`, { offset: image.at(address) });
}

function readBlocks(image: Image, first: Block, open: (block: Block) => OpenBlock): Message[] {
  const blocks = [first];
  const known = new Set([first.address]);
  const messages: Message[] = [];
  for (const block of blocks) {
    image.budget.spend('entries');
    const { fields, headBytes, read } = open(block);
    while (fields.remaining >= headBytes) {
      image.budget.spend('messages');
      const { type, size, flags } = read(fields);
      const message = { type, isShared: (flags & 2) !== 0, at: fields.start + fields.position, data: fields.bytes(size) };
      if (type === MESSAGE.continuation) blocks.push(continuation(image, message, known));
      else if (type !== 0) messages.push(message);
      if (messages.length > MOST_MESSAGES) throw tooMany(image, first);
    }
  }
  return messages;
}

function continuation(image: Image, { data, at }: Message, known: Set<number>): Block {
  const fields: Fields = new Fields(data, image.widths, 'a continuation of an object header', at);
  const address = fields.address();
  const length = fields.length();
  if (address === null || known.has(address)) fields.fail('it leads nowhere or back');
  known.add(address);
  if (length < 8) fields.fail(`it is ${length} bytes long`);
  return { address, length };
}
