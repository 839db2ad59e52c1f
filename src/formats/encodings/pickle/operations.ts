import type { PickleCursor } from './cursor.ts';
import { PICKLE_LIMITS } from './pickle-failure.ts';
import type { PickleMachine } from './machine.ts';
import { HIGHEST_PROTOCOL, OP } from './opcodes.ts';
import { bytesOfQuoted, floatOfText, integerOfBytes, integerOfText, textOfRawUnicodeEscape, textOfUtf8 } from './scalars.ts';
import { isNode, type PickleValue } from './value.ts';

/** The state of a walk over the opcodes of a pickle. */
export interface Walk {
  readonly cursor: PickleCursor;
  readonly machine: PickleMachine;
  protocol: number;
}

/** The weight of a Buffer, besides its bytes. */
const KEPT_BUFFER = 240;
/** Weight per byte of a long integer; its digits stay in memory until a garbage collection. */
const INTEGER_FACTOR = 4;

type Operation = (walk: Walk) => void;

/** The action of each opcode, by its byte. */
export const OPERATIONS: readonly (Operation | undefined)[] = table({
  [OP.PROTO]: protocol,
  [OP.FRAME]: ({ cursor }) => cursor.require(cursor.u64()),
  [OP.MARK]: ({ machine }) => machine.mark(),
  [OP.POP]: ({ machine }) => machine.discard(),
  [OP.POP_MARK]: ({ machine }) => void machine.popMark(),
  [OP.DUP]: ({ machine }) => machine.push(machine.top()),

  [OP.NONE]: ({ machine }) => machine.push(null),
  [OP.NEWTRUE]: ({ machine }) => machine.push(true),
  [OP.NEWFALSE]: ({ machine }) => machine.push(false),
  [OP.INT]: integerLine,
  [OP.LONG]: integerLine,
  [OP.BININT]: ({ cursor, machine }) => machine.push(cursor.i32()),
  [OP.BININT1]: ({ cursor, machine }) => machine.push(cursor.u8()),
  [OP.BININT2]: ({ cursor, machine }) => machine.push(cursor.u16()),
  [OP.LONG1]: (walk) => longInteger(walk, walk.cursor.u8()),
  [OP.LONG4]: (walk) => longInteger(walk, walk.cursor.i32()),
  [OP.FLOAT]: floatLine,
  [OP.BINFLOAT]: ({ cursor, machine }) => machine.leaf({ kind: 'float', value: cursor.f64() }),

  [OP.UNICODE]: ({ cursor, machine }) => machine.text(cut(textOfRawUnicodeEscape(cursor.line()))),
  [OP.SHORT_BINUNICODE]: (walk) => unicode(walk, walk.cursor.u8()),
  [OP.BINUNICODE]: (walk) => unicode(walk, walk.cursor.u32()),
  [OP.BINUNICODE8]: (walk) => unicode(walk, walk.cursor.u64()),
  [OP.STRING]: quotedLine,
  [OP.SHORT_BINSTRING]: (walk) => oldString(walk, walk.cursor.u8()),
  [OP.BINSTRING]: (walk) => oldString(walk, walk.cursor.i32()),
  [OP.SHORT_BINBYTES]: (walk) => bytes(walk, walk.cursor.u8()),
  [OP.BINBYTES]: (walk) => bytes(walk, walk.cursor.u32()),
  [OP.BINBYTES8]: (walk) => bytes(walk, walk.cursor.u64()),
  [OP.BYTEARRAY8]: (walk) => bytes(walk, walk.cursor.u64()),
  [OP.NEXT_BUFFER]: ({ machine }) => machine.leaf({ kind: 'out-of-band' }),
  [OP.READONLY_BUFFER]: ({ machine }) => void machine.top(),

  [OP.EMPTY_TUPLE]: ({ machine }) => machine.emptyTuple(),
  [OP.TUPLE]: ({ machine }) => machine.sequence('tuple', machine.popMark()),
  [OP.TUPLE1]: ({ machine }) => machine.sequence('tuple', [machine.pop()]),
  [OP.TUPLE2]: ({ machine }) => machine.sequence('tuple', pair(machine)),
  [OP.TUPLE3]: ({ machine }) => machine.sequence('tuple', [machine.pop(), machine.pop(), machine.pop()].reverse()),
  [OP.EMPTY_LIST]: ({ machine }) => machine.sequence('list', []),
  [OP.LIST]: ({ machine }) => machine.sequence('list', machine.popMark()),
  [OP.APPEND]: append,
  [OP.APPENDS]: ({ machine }) => machine.append(machine.popMark(), 'APPENDS'),
  [OP.EMPTY_SET]: ({ machine }) => machine.sequence('set', []),
  [OP.FROZENSET]: ({ machine }) => machine.sequence('frozenset', machine.popMark()),
  [OP.ADDITEMS]: ({ machine }) => machine.append(machine.popMark(), 'ADDITEMS'),
  [OP.EMPTY_DICT]: ({ machine }) => machine.dict([]),
  [OP.DICT]: ({ machine }) => machine.dict(machine.popMark()),
  [OP.SETITEM]: ({ machine }) => machine.setItems(pair(machine)),
  [OP.SETITEMS]: ({ machine }) => machine.setItems(machine.popMark(), true),

  [OP.GET]: (walk) => recall(walk, indexLine(walk)),
  [OP.BINGET]: (walk) => recall(walk, walk.cursor.u8()),
  [OP.LONG_BINGET]: (walk) => recall(walk, walk.cursor.u32()),
  [OP.PUT]: (walk) => remember(walk, indexLine(walk)),
  [OP.BINPUT]: (walk) => remember(walk, walk.cursor.u8()),
  [OP.LONG_BINPUT]: (walk) => remember(walk, walk.cursor.u32()),
  [OP.MEMOIZE]: ({ machine }) => machine.memoize(),

  [OP.GLOBAL]: (walk) => walk.machine.push(globalLines(walk)),
  [OP.STACK_GLOBAL]: stackGlobal,
  [OP.EXT1]: (walk) => extension(walk, walk.cursor.u8()),
  [OP.EXT2]: (walk) => extension(walk, walk.cursor.u16()),
  [OP.EXT4]: (walk) => extension(walk, walk.cursor.i32()),
  [OP.INST]: instance,
  [OP.OBJ]: object,
  [OP.REDUCE]: (walk) => construct(walk, 'call'),
  [OP.NEWOBJ]: (walk) => construct(walk, 'new'),
  [OP.NEWOBJ_EX]: newWithKeywords,
  [OP.BUILD]: ({ machine }) => machine.build(),
  [OP.PERSID]: ({ cursor, machine }) => machine.persistentId(cut(cursor.line().toString('latin1'))),
  [OP.BINPERSID]: ({ machine }) => machine.persistentId(machine.pop()),
});

function table(operations: Readonly<Record<number, Operation>>): (Operation | undefined)[] {
  return Array.from({ length: 256 }, (_, code) => operations[code]);
}

function protocol(walk: Walk): void {
  const version = walk.cursor.u8();
  if (version > HIGHEST_PROTOCOL) throw walk.machine.invalid(`says protocol ${version}; the highest there is is ${HIGHEST_PROTOCOL}`);
  walk.protocol = version;
}

function integerLine({ cursor, machine }: Walk): void {
  const text = cursor.line().toString('latin1');
  if (text === '00' || text === '01') return machine.push(text === '01');
  const value = integerOfText(text.endsWith('L') ? text.slice(0, -1) : text);
  if (value === null) throw machine.invalid('has an invalid integer');
  machine.charge(INTEGER_FACTOR * Math.min(text.length, PICKLE_LIMITS.integerDigits));
  machine.leaf(value);
}

function longInteger({ cursor, machine }: Walk, length: number): void {
  if (length < 0) throw machine.invalid(`has an integer of ${length} bytes`);
  if (length <= PICKLE_LIMITS.integerDigits) {
    machine.charge(INTEGER_FACTOR * length);
    return machine.leaf(integerOfBytes(cursor.take(length)));
  }
  cursor.skip(length);
  machine.leaf({ kind: 'huge-int', length });
}

function floatLine({ cursor, machine }: Walk): void {
  const value = floatOfText(cursor.line().toString('latin1'));
  if (value === null) throw machine.invalid('has an invalid float');
  machine.leaf({ kind: 'float', value });
}

function cut(text: string): string {
  return text.length > PICKLE_LIMITS.textBytes ? `${text.slice(0, PICKLE_LIMITS.textBytes)}…` : text;
}

function unicode({ cursor, machine }: Walk, length: number): void {
  cursor.require(length);
  if (length > PICKLE_LIMITS.textBytes) {
    const start = `${cursor.take(PICKLE_LIMITS.textBytes).toString('utf8')}…`;
    cursor.skip(length - PICKLE_LIMITS.textBytes);
    return machine.text(start);
  }
  const text = cursor.text(length);
  if (text === null) throw machine.invalid('has text that is not UTF-8');
  machine.text(text);
}

function quotedLine({ cursor, machine }: Walk): void {
  const offset = cursor.position;
  const content = bytesOfQuoted(cursor.line());
  if (content === null) throw machine.invalid('has a string without quotes');
  pushOldString(machine, content, offset);
}

function oldString(walk: Walk, length: number): void {
  if (length < 0) throw walk.machine.invalid(`has a string of ${length} bytes`);
  if (length > PICKLE_LIMITS.textBytes) return bytes(walk, length);
  const offset = walk.cursor.position;
  pushOldString(walk.machine, walk.cursor.take(length), offset);
}

/** Python 2 did not separate text from bytes: use text when the bytes allow it. */
function pushOldString(machine: PickleMachine, content: Buffer, offset: number): void {
  const text = textOfUtf8(content);
  if (text !== null) return machine.text(cut(text));
  machine.charge(KEPT_BUFFER + Math.min(content.length, PICKLE_LIMITS.keptBytes));
  machine.leaf({ kind: 'bytes', length: content.length, bytes: keep(content), offset });
}

function bytes({ cursor, machine }: Walk, length: number): void {
  const offset = cursor.position;
  cursor.require(length);
  const kept = length <= PICKLE_LIMITS.keptBytes ? keep(cursor.take(length)) : null;
  if (kept === null) cursor.skip(length);
  machine.charge(kept === null ? 0 : KEPT_BUFFER + length);
  machine.leaf({ kind: 'bytes', length, bytes: kept, offset });
}

function keep(content: Buffer): Buffer | null {
  return content.length <= PICKLE_LIMITS.keptBytes ? Buffer.from(content) : null;
}

function pair(machine: PickleMachine): PickleValue[] {
  const second = machine.pop();
  return [machine.pop(), second];
}

function append({ machine }: Walk): void {
  const item = machine.pop();
  machine.append([item], 'APPEND');
}

function indexLine({ cursor, machine }: Walk): number {
  const index = integerOfText(cursor.line().toString('latin1'));
  if (typeof index !== 'number' || index < 0) throw machine.invalid('has a memo index that is no number');
  return index;
}

function recall({ machine }: Walk, index: number): void {
  const value = machine.memo.get(index);
  if (value === undefined) throw machine.invalid(`uses memo entry ${index}, which was never stored`);
  machine.push(value);
}

function remember({ machine }: Walk, index: number): void {
  machine.remember(index);
}

function globalLines({ cursor, machine }: Walk): PickleValue {
  const module = cut(lineText(cursor));
  return machine.global(module, cut(lineText(cursor)));
}

function lineText(cursor: PickleCursor): string {
  return cursor.line().toString('utf8');
}

function stackGlobal({ machine }: Walk): void {
  const name = machine.pop();
  machine.push(machine.global(machine.pop(), name));
}

/** Only the process that loads the pickle knows the meaning of an extension code. */
function extension({ machine }: Walk, code: number): void {
  if (code <= 0) throw machine.invalid(`uses extension code ${code}`);
  machine.push(machine.global('copyreg', `<extension ${code}>`));
}

function instance(walk: Walk): void {
  const cls = globalLines(walk);
  walk.machine.callWith(cls, walk.machine.popMark());
}

function object({ machine }: Walk): void {
  const args = machine.popMark();
  const cls = args.shift();
  if (cls === undefined) throw machine.invalid('makes an object of no class');
  machine.callWith(cls, args);
}

function construct({ machine }: Walk, how: 'call' | 'new'): void {
  const args = machine.pop();
  machine.call(how, machine.pop(), args);
}

function newWithKeywords({ machine }: Walk): void {
  const kwargs = machine.pop();
  const args = machine.pop();
  if (!isNode(kwargs)) throw machine.invalid('makes an object with keywords that are no dictionary');
  machine.call('new', machine.pop(), args, kwargs);
}
