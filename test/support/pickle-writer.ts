import { OP } from '../../src/formats/encodings/pickle/opcodes.ts';

/** Python writes the items of a container in batches of a thousand. */
const BATCH = 1000;

/**
 * Writes a pickle of protocol 4 as Python's pickler does: it memoizes everything and recalls
 * little.
 */
export class PickleWriter {
  readonly #write: (bytes: Buffer) => void;
  readonly #batch: number;
  readonly #buffer = Buffer.alloc(1 << 20);
  readonly #recalled = new Map<string, number>();
  #length = 0;
  #remembered = 0;

  constructor(write: (bytes: Buffer) => void, batch = BATCH) {
    this.#write = write;
    this.#batch = batch;
    this.#opcode(OP.PROTO, 4);
  }

  #opcode(code: number, then?: typeof OP.MEMOIZE | 4): void {
    if (this.#length + 512 > this.#buffer.length) this.#flush();
    this.#buffer[this.#length++] = code;
    if (code === OP.MEMOIZE || then === OP.MEMOIZE) this.#remembered++;
    if (then !== undefined) this.#buffer[this.#length++] = then;
  }

  /** Text that is equal to earlier text but not the same object, as from another rank. */
  fresh(value: string): void {
    const encoded = Buffer.from(value);
    this.#raw(OP.SHORT_BINUNICODE, Buffer.concat([Buffer.from([encoded.length]), encoded]));
    this.#opcode(OP.MEMOIZE);
  }

  text(value: string): void {
    if (this.#recall(value)) return;
    this.fresh(value);
    this.#recalled.set(value, this.#remembered - 1);
  }

  global(module: string, name: string): void {
    const key = `${module} ${name}`;
    if (this.#recall(key)) return;
    this.text(module);
    this.text(name);
    this.#opcode(OP.STACK_GLOBAL);
    this.#opcode(OP.MEMOIZE);
    this.#recalled.set(key, this.#remembered - 1);
  }

  integer(value: number): void {
    const wide = Buffer.alloc(8);
    wide.writeBigInt64LE(BigInt(value));
    if (value < 256) this.#raw(OP.BININT1, wide.subarray(0, 1));
    else if (value < 65_536) this.#raw(OP.BININT2, wide.subarray(0, 2));
    else if (value < 0x7fff_ffff) this.#raw(OP.BININT, wide.subarray(0, 4));
    else this.#raw(OP.LONG1, Buffer.concat([Buffer.from([8]), wide]));
  }

  none(): void {
    this.#opcode(OP.NONE);
  }

  boolean(value: boolean): void {
    this.#opcode(value ? OP.NEWTRUE : OP.NEWFALSE);
  }

  /** A `torch.Size` of these lengths. */
  size(...lengths: readonly number[]): void {
    this.global('torch', 'Size');
    this.tuple(() => {
      for (const length of lengths) this.integer(length);
    });
    this.tuple1();
    this.reduce();
  }

  tuple(writeItems: () => void): void {
    this.#opcode(OP.MARK);
    writeItems();
    this.#opcode(OP.TUPLE, OP.MEMOIZE);
  }

  tuple1(): void {
    this.#opcode(OP.TUPLE1, OP.MEMOIZE);
  }

  reduce(): void {
    this.#opcode(OP.REDUCE, OP.MEMOIZE);
  }

  /** An object; `writeState` writes its state. */
  objectOf(module: string, name: string, writeState: () => void): void {
    this.global(module, name);
    this.#opcode(OP.EMPTY_TUPLE);
    this.#opcode(OP.NEWOBJ, OP.MEMOIZE);
    writeState();
    this.#opcode(OP.BUILD);
  }

  /** An object; `writeAttributes` writes its attributes, names and values in turn. */
  object(module: string, name: string, writeAttributes: () => void): void {
    this.objectOf(module, name, () => {
      this.#opcode(OP.EMPTY_DICT, OP.MEMOIZE);
      this.#opcode(OP.MARK);
      writeAttributes();
      this.#opcode(OP.SETITEMS);
    });
  }

  /** Writes a value once, and recalls it from the memo later. */
  shared(key: string, write: () => void): void {
    const recalled = `shared ${key}`;
    if (this.#recall(recalled)) return;
    write();
    this.#opcode(OP.MEMOIZE);
    this.#recalled.set(recalled, this.#remembered - 1);
  }

  dict(count: number, writeEntry: (index: number) => void): void {
    this.#opcode(OP.EMPTY_DICT, OP.MEMOIZE);
    this.#batches(count, writeEntry, { many: OP.SETITEMS, one: OP.SETITEM });
  }

  list(count: number, writeItem: (index: number) => void): void {
    this.#opcode(OP.EMPTY_LIST, OP.MEMOIZE);
    this.#batches(count, writeItem, { many: OP.APPENDS, one: OP.APPEND });
  }

  finish(): void {
    this.#opcode(OP.STOP);
    this.#flush();
  }

  #batches(count: number, write: (index: number) => void, { many, one }: { readonly many: number; readonly one: number }): void {
    for (let start = 0; start < count; start += this.#batch) {
      const end = Math.min(count, start + this.#batch);
      if (end - start > 1) this.#opcode(OP.MARK);
      for (let index = start; index < end; index++) write(index);
      this.#opcode(end - start > 1 ? many : one);
    }
  }

  #recall(key: string): boolean {
    const index = this.#recalled.get(key);
    if (index === undefined) return false;
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(index);
    if (index < 256) this.#raw(OP.BINGET, bytes.subarray(0, 1));
    else this.#raw(OP.LONG_BINGET, bytes);
    return true;
  }

  #raw(code: number, bytes: Buffer): void {
    this.#opcode(code);
    this.#length += bytes.copy(this.#buffer, this.#length);
  }

  #flush(): void {
    this.#write(this.#buffer.subarray(0, this.#length));
    this.#length = 0;
  }
}
