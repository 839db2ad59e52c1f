import { OP } from '../../../src/formats/encodings/pickle/opcodes.ts';

/** Opcodes of pickles, by hand: what no pickler would write. */
export function pickle(...parts: readonly (number | Buffer)[]): Buffer {
  return Buffer.concat([bytes(OP.PROTO, 2), ...parts.map((part) => (typeof part === 'number' ? bytes(part) : part)), bytes(OP.STOP)]);
}

export function bytes(...values: readonly number[]): Buffer {
  return Buffer.from(values);
}

/** BINUNICODE. */
export function text(value: string): Buffer {
  const encoded = Buffer.from(value);
  return Buffer.concat([bytes(OP.BINUNICODE), uint32(encoded.length), encoded]);
}

export function integer(value: number): Buffer {
  const encoded = Buffer.alloc(5, OP.BININT);
  encoded.writeInt32LE(value, 1);
  return encoded;
}

export function global(module: string, name: string): Buffer {
  return Buffer.concat([bytes(OP.GLOBAL), Buffer.from(`${module}\n${name}\n`)]);
}

export function put(index: number): Buffer {
  return Buffer.concat([bytes(OP.LONG_BINPUT), uint32(index)]);
}

export function get(index: number): Buffer {
  return Buffer.concat([bytes(OP.LONG_BINGET), uint32(index)]);
}

export function list(...items: readonly Buffer[]): Buffer {
  return Buffer.concat([bytes(OP.EMPTY_LIST, OP.MARK), ...items, bytes(OP.APPENDS)]);
}

export function tuple(...items: readonly Buffer[]): Buffer {
  return Buffer.concat([bytes(OP.MARK), ...items, bytes(OP.TUPLE)]);
}

export function dict(...entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([bytes(OP.EMPTY_DICT, OP.MARK), ...entries.flat(), bytes(OP.SETITEMS)]);
}

/** An object made of a class without arguments, and its attributes. */
export function object(module: string, name: string, state: Buffer): Buffer {
  return Buffer.concat([global(module, name), bytes(OP.EMPTY_TUPLE, OP.NEWOBJ), state, bytes(OP.BUILD)]);
}

/** A call of a global. */
export function call(module: string, name: string, ...args: readonly Buffer[]): Buffer {
  return Buffer.concat([global(module, name), tuple(...args), bytes(OP.REDUCE)]);
}

export function repeat(part: Buffer, count: number): Buffer {
  return Buffer.concat([Buffer.alloc(0), ...Array.from({ length: count }, () => part)]);
}

/** Like {@link repeat}, with a part that differs each time. */
export function many(count: number, part: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => part(index)));
}

function uint32(value: number): Buffer {
  const encoded = Buffer.alloc(4);
  encoded.writeUInt32LE(value);
  return encoded;
}
