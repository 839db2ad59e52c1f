import type { PickleCursor } from './cursor.ts';
import { PickleFailure } from './pickle-failure.ts';
import { OP } from './opcodes.ts';

/** Memo indexes beyond this count as recalled without being tracked: no pickler reaches them. */
const MOST_INDEXES = 64 * 1024 * 1024;

/** A set of memo indexes, one bit each. */
export class IndexSet {
  #bits = new Uint32Array(1024);

  add(index: number): void {
    if (index >= MOST_INDEXES) return;
    const word = index >>> 5;
    if (word >= this.#bits.length) {
      const grown = new Uint32Array(Math.max(word + 1, this.#bits.length * 2));
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[word] = (this.#bits[word] as number) | (1 << (index & 31));
  }

  has(index: number): boolean {
    return index >= MOST_INDEXES || ((this.#bits[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0;
  }
}

/**
 * The argument of an opcode: a number of bytes, a number of lines, or a length field of 1, 4 or 8
 * bytes in front of its bytes.
 */
type Argument = { readonly bytes: number } | { readonly lengthOf: 1 | 4 | 8 } | { readonly lines: 1 | 2 };

const ARGUMENTS = new Map<number, Argument>([
  ...[OP.PROTO, OP.BININT1, OP.BINPUT, OP.EXT1].map((code) => [code, { bytes: 1 }] as const),
  ...[OP.BININT2, OP.EXT2].map((code) => [code, { bytes: 2 }] as const),
  ...[OP.BININT, OP.LONG_BINPUT, OP.EXT4].map((code) => [code, { bytes: 4 }] as const),
  ...[OP.FRAME, OP.BINFLOAT].map((code) => [code, { bytes: 8 }] as const),
  ...[OP.LONG1, OP.SHORT_BINUNICODE, OP.SHORT_BINSTRING, OP.SHORT_BINBYTES].map((code) => [code, { lengthOf: 1 }] as const),
  ...[OP.LONG4, OP.BINUNICODE, OP.BINSTRING, OP.BINBYTES].map((code) => [code, { lengthOf: 4 }] as const),
  ...[OP.BINUNICODE8, OP.BINBYTES8, OP.BYTEARRAY8].map((code) => [code, { lengthOf: 8 }] as const),
  ...[OP.INT, OP.LONG, OP.FLOAT, OP.STRING, OP.UNICODE, OP.PUT, OP.PERSID].map((code) => [code, { lines: 1 }] as const),
  ...[OP.GLOBAL, OP.INST].map((code) => [code, { lines: 2 }] as const),
]);

/** How many bytes follow an opcode, without reading them; -1 when the arguments must be read. */
const FIXED = Int8Array.from({ length: 256 }, (_, code) => {
  if (code === OP.STOP || code === OP.BINGET || code === OP.LONG_BINGET || code === OP.GET) return -1;
  const argument = ARGUMENTS.get(code) ?? { bytes: 0 };
  return 'bytes' in argument ? argument.bytes : -1;
});

/**
 * Returns the memo indexes that a pickle recalls. Picklers store every object in the memo and
 * recall few, so the walker can drop the others. It ends early and without a report when it finds a
 * fault, because the walk itself stops there and reports it.
 */
export function recalledIndexes(cursor: PickleCursor, mostOpcodes: number): IndexSet {
  const recalled = new IndexSet();
  try {
    for (let count = 0; count < mostOpcodes; count++) {
      const code = cursor.u8();
      const fixed = FIXED[code] as number;
      if (fixed === 0) continue;
      if (fixed > 0) cursor.skip(fixed);
      else if (code === OP.BINGET) recalled.add(cursor.u8());
      else if (code === OP.LONG_BINGET) recalled.add(cursor.u32());
      else if (code === OP.GET) recalled.add(Number(cursor.line().toString('latin1')));
      else if (code === OP.STOP) break;
      else skipArgument(cursor, ARGUMENTS.get(code) as Argument);
    }
  } catch (thrown) {
    if (!(thrown instanceof PickleFailure)) throw thrown;
  }
  return recalled;
}

function skipArgument(cursor: PickleCursor, argument: Argument): void {
  if ('lines' in argument) {
    for (let line = 0; line < argument.lines; line++) cursor.line();
  } else if ('lengthOf' in argument) {
    cursor.skip(argument.lengthOf === 1 ? cursor.u8() : argument.lengthOf === 4 ? cursor.u32() : cursor.u64());
  }
}
