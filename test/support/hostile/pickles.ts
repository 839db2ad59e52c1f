import { OP } from '../../../src/formats/encodings/pickle/opcodes.ts';
import type { Attack } from './attack.ts';
import { bytes, dict, get, global, integer, list, many, pickle, put, repeat, text, tuple } from './pickle-bytes.ts';
import { writeTorch } from './torch-files.ts';

const LIGHTNING = [text('pytorch-lightning_version'), text('2.5.0')] as const;

/**
 * A list that holds the one before it twice, `depth` times over: 2^depth leaves for who follows it.
 */
function exponential(depth: number): Buffer {
  const layers = Array.from({ length: depth }, (_, index) => Buffer.concat([list(get(index), get(index)), put(index + 1), bytes(OP.POP)]));
  return Buffer.concat([list(), put(0), bytes(OP.POP), ...layers, get(depth)]);
}

/** Lists inside lists, each closed at once, so that no mark stays open. */
function nested(depth: number): Buffer {
  return Buffer.concat([bytes(OP.EMPTY_LIST), repeat(bytes(OP.EMPTY_LIST), depth), repeat(bytes(OP.APPEND), depth)]);
}

function attack(name: string, body: () => Buffer, exit: number, ...codes: readonly string[]): Attack {
  return { name, exit, codes, write: (path) => writeTorch(path, body()) };
}

/** Pickles that make their reader count, remember or descend without end. */
export const PICKLE_ATTACKS: readonly Attack[] = [
  attack(
    'memo indexes that leave gaps of a thousand',
    () =>
      pickle(
        bytes(OP.NONE),
        many(100_000, (i) => put((i + 1) * 1024)),
      ),
    1,
  ),
  attack(
    'a list of lists with 2^60 ends',
    () => pickle(dict(LIGHTNING, [text('optimizer_states'), exponential(60)], [text('state_dict'), exponential(60)])),
    1,
  ),
  attack(
    'a list that holds itself',
    () => pickle(dict(LIGHTNING, [text('optimizer_states'), Buffer.concat([bytes(OP.EMPTY_LIST), put(1), get(1), bytes(OP.APPEND)])])),
    1,
  ),
  attack('lists a hundred thousand deep', () => pickle(dict(LIGHTNING, [text('optimizer_states'), nested(100_000)])), 1),
  attack('marks that are never closed', () => pickle(repeat(bytes(OP.MARK), 100_000)), 1, 'LIMIT_EXCEEDED'),
  attack('an integer of two gigabytes', () => pickle(bytes(OP.LONG4, 0xff, 0xff, 0xff, 0x7f)), 1, 'PICKLE_TRUNCATED'),
  attack('bytes of 2^63', () => pickle(bytes(OP.BINBYTES8, 0, 0, 0, 0, 0, 0, 0, 0x80)), 1, 'PICKLE_TRUNCATED'),
  attack('nine million opcodes', () => pickle(Buffer.alloc(9_000_000, bytes(OP.NONE, OP.POP)), bytes(OP.NONE)), 1, 'LIMIT_EXCEEDED'),
  attack('four million values left on the stack', () => pickle(Buffer.alloc(4_000_000, OP.NONE)), 1, 'LIMIT_EXCEEDED'),
  attack(
    'twenty thousand names to import',
    () => pickle(many(20_000, (i) => global('m', `n${i}`))),
    1,
    'LIMIT_EXCEEDED',
    'PICKLE_UNSAFE_GLOBAL',
  ),
  attack(
    'names to import of twenty megabytes',
    () =>
      pickle(
        many(300, (i) => global(`${i}${'m'.repeat(64_000)}`, '\u3042')),
        bytes(OP.NONE),
      ),
    1,
  ),
  attack(
    'a float whose text never ends',
    () => pickle(bytes(OP.FLOAT), Buffer.alloc(900_000, '1'), Buffer.from('x\n')),
    1,
    'PICKLE_INVALID',
  ),
  attack('text that fills the memory', () => pickle(repeat(text('\u3042'.repeat(21_000)), 1000), bytes(OP.NONE)), 1),
  attack(
    'integers of thousands of bytes',
    () => pickle(repeat(Buffer.concat([bytes(OP.LONG4, 0xcc, 0x10, 0, 0), Buffer.alloc(4300, 0x77)]), 6_000), bytes(OP.NONE)),
    1,
    'LIMIT_EXCEEDED',
  ),
  attack(
    'a dictionary of a quarter of a million keys',
    () =>
      pickle(
        bytes(OP.EMPTY_DICT, OP.MARK),
        many(500_000, (i) => text(`k${i}`)),
        bytes(OP.SETITEMS),
      ),
    1,
  ),
  attack(
    'one shared dictionary in a hundred thousand places',
    () => {
      const shared = Buffer.concat([
        bytes(OP.EMPTY_DICT, OP.MARK),
        repeat(Buffer.concat([integer(1), integer(1)]), 100_000),
        bytes(OP.SETITEMS),
        put(7),
        bytes(OP.POP),
      ]);
      const states = repeat(Buffer.concat([integer(1), get(7)]), 100_000);
      return pickle(
        shared,
        bytes(OP.EMPTY_DICT, OP.MARK),
        text('state'),
        bytes(OP.EMPTY_DICT, OP.MARK),
        states,
        bytes(OP.SETITEMS),
        text('param_groups'),
        list(),
        bytes(OP.SETITEMS),
      );
    },
    1,
  ),
  attack('tuples that pair up', () => pickle(bytes(OP.EMPTY_TUPLE), repeat(bytes(OP.DUP, OP.TUPLE2), 500_000)), 1),
  attack(
    'sixty thousand persistent ids',
    () =>
      pickle(
        many(60_000, (i) =>
          Buffer.concat([
            tuple(text('storage'), global('torch', 'FloatStorage'), text(`${i}`), text('cpu'), integer(1)),
            bytes(OP.BINPERSID, OP.POP),
          ]),
        ),
        bytes(OP.NONE),
      ),
    1,
  ),
];
