import { Fault } from '../../reading/fault.ts';
import { Fields } from './field-widths.ts';
import type { Image } from './file-image.ts';
import { type Message, readObjectHeader } from './object-header.ts';

const IN_HEAP = 1;

/**
 * Returns the first message of a type, or null when there is none. A shared message is fetched from
 * the object that stores it.
 */
export function messageFields(image: Image, messages: readonly Message[], type: number, what: string): Fields | null {
  const message = messages.find((candidate) => candidate.type === type);
  if (message === undefined) return null;
  const own = message.isShared ? fetchShared(image, message, what) : message;
  return new Fields(own.data, image.widths, what, own.at);
}

function fetchShared(image: Image, { data, at, type }: Message, what: string): Message {
  const fields = new Fields(data, image.widths, what, at);
  const version = fields.version(1, 2, 3);
  const place = fields.u8();
  if (version === 3 && place === IN_HEAP) {
    throw new Fault('HDF5_UNSUPPORTED', `${what} lies in a heap that many objects share`, { offset: at });
  }
  if (version === 1) fields.skip(6 + image.widths.length);
  const address = fields.address() ?? fields.fail('it leads nowhere');
  const shared = readObjectHeader(image, address).find((candidate) => candidate.type === type && !candidate.isShared);
  return shared ?? fields.fail('the object it leads to has none');
}
