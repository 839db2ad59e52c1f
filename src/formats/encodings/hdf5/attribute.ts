import { type Datatype, integerValue, readDatatype } from './datatype.ts';
import { elementCount, readDataspace } from './dataspace.ts';
import { Fields } from './field-widths.ts';
import type { Image } from './file-image.ts';
import type { Message } from './object-header.ts';

const MAX_NAME_BYTES = 64 * 1024;

/** The name of an attribute, and its value when the value is a single integer. */
export interface Attribute {
  readonly name: string;
  readonly integer: number | null;
}

/** Reads the attribute in a message of an object header. */
export function readAttribute(image: Image, { data, at }: Pick<Message, 'data' | 'at'>): Attribute {
  const fields = new Fields(data, image.widths, 'an attribute', at);
  const version = fields.version(1, 2, 3);
  const flags = fields.u8();
  const nameBytes = fields.u16();
  const typeBytes = fields.u16();
  const spaceBytes = fields.u16();
  if (version === 3) fields.skip(1);
  const padded = (bytes: number): number => (version === 1 ? Math.ceil(bytes / 8) * 8 : bytes);
  if (nameBytes > MAX_NAME_BYTES) fields.fail(`its name has ${nameBytes} bytes`);
  const name = fields.bytes(padded(nameBytes)).subarray(0, nameBytes).toString('utf8').replace(/\0.*$/s, '');
  const part = (bytes: number): Fields => {
    const start = at + fields.position;
    return new Fields(fields.bytes(padded(bytes)), image.widths, 'an attribute', start);
  };
  const type = part(typeBytes);
  const space = part(spaceBytes);
  // An attribute whose type is stored elsewhere is not a plain counter.
  const isShared = version > 1 && (flags & 3) !== 0;
  return { name, integer: isShared ? null : singleInteger(readDatatype(type), elementCount(readDataspace(space)), fields) };
}

function singleInteger(datatype: Datatype, count: number, fields: Fields): number | null {
  if (count !== 1 || datatype.integer === null || fields.remaining < datatype.size) return null;
  return integerValue(datatype, fields.bytes(datatype.size));
}
