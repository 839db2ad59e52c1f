import { Containers, emptyDict } from './containers.ts';
import { PICKLE_LIMITS, PickleFailure } from './pickle-failure.ts';
import type { PickleConsumer } from './consumer.ts';
import { GlobalRegister } from './global-register.ts';
import { EMPTY, Interned, isSize } from './interned.ts';
import { Ledger, WEIGHT } from './memory-account.ts';
import { PickleMemo } from './memo.ts';
import type { IndexSet } from './recalled.ts';
import type { PickleCall, PickleDict, PickleGlobal, PicklePersistent, PickleSequence, PickleValue } from './value.ts';
import { isNode } from './value.ts';

/** The extra state of a walk whose consumer takes the content of containers. */
export interface Streaming {
  readonly consumer: PickleConsumer;
  /** The memo indexes that the pickle recalls at least once. */
  readonly recalled: IndexSet;
}

/**
 * The state of a pickle machine that builds descriptions instead of objects: a stack with marks,
 * and the memo. `globals` records what a real machine would import or call. `persistent` records
 * what it would request from outside the pickle.
 */
export class PickleMachine {
  /** Offset of the current opcode. */
  offset = 0;
  readonly memo: PickleMemo;
  readonly globals = new GlobalRegister();
  readonly persistent: PicklePersistent[] = [];
  readonly #stack: PickleValue[] = [];
  readonly #marks: number[] = [];
  readonly #containers = new Containers();
  readonly #interned: Interned;
  readonly #ledger = new Ledger();
  readonly #consumer: PickleConsumer | null;
  #fence = 0;

  constructor(streaming: Streaming | null = null) {
    this.#consumer = streaming?.consumer ?? null;
    this.#interned = new Interned(streaming === null);
    this.memo = new PickleMemo(streaming?.recalled ?? null);
  }

  invalid(message: string): PickleFailure {
    return new PickleFailure('PICKLE_INVALID', this.offset, message);
  }

  limit(message: string): PickleFailure {
    return new PickleFailure('LIMIT_EXCEEDED', this.offset, message);
  }

  /** Counts memory that the tree is about to hold. */
  charge(bytes: number): void {
    this.#ledger.weight += bytes;
    this.#weigh();
  }

  #weigh(): void {
    if (this.#ledger.weight > PICKLE_LIMITS.weight) throw this.limit(`holds more values than fit into ${PICKLE_LIMITS.weight} bytes`);
  }

  push(value: PickleValue): void {
    if (this.#stack.length >= PICKLE_LIMITS.stack) throw this.limit(`puts more than ${PICKLE_LIMITS.stack} values on the stack`);
    this.#stack.push(value);
  }

  pop(): PickleValue {
    if (this.#stack.length <= this.#fence) throw this.invalid('takes a value from an empty stack');
    return this.#stack.pop() as PickleValue;
  }

  top(): PickleValue {
    if (this.#stack.length <= this.#fence) throw this.invalid('looks at an empty stack');
    return this.#stack[this.#stack.length - 1] as PickleValue;
  }

  mark(): void {
    if (this.#marks.length >= PICKLE_LIMITS.marks) throw this.limit(`nests deeper than ${PICKLE_LIMITS.marks}`);
    this.#fence = this.#stack.length;
    this.#marks.push(this.#fence);
    this.#ledger.open();
  }

  /** Returns the values above the last mark and removes the mark. */
  popMark(): PickleValue[] {
    const start = this.#marks.pop();
    if (start === undefined) throw this.invalid('closes a container that was not opened');
    this.#fence = this.#marks.length === 0 ? 0 : (this.#marks[this.#marks.length - 1] as number);
    this.#ledger.close();
    const items = this.#stack.slice(start);
    this.#stack.length = start;
    return items;
  }

  /** Puts the value on top into the memo, at the next index. */
  memoize(): void {
    if (this.#stack.length <= this.#fence || !this.memo.passOver()) this.remember(this.memo.size);
  }

  /** Puts the value on top into the memo. */
  remember(index: number): void {
    const value = this.top();
    if (this.memo.keeps(index)) {
      this.#ledger.pin(this.memo.isSparse(index) ? WEIGHT.entry : WEIGHT.slot);
      if (this.#consumer !== null) this.#ledger.remember(value);
      this.#weigh();
    }
    this.memo.put(index, value);
  }

  /** POP: removes a value, or the mark when nothing lies above it. */
  discard(): void {
    if (this.#stack.length > this.#fence) this.#stack.pop();
    else this.popMark();
  }

  emptyTuple(): void {
    this.push(EMPTY);
  }

  sequence(kind: PickleSequence['kind'], items: PickleValue[]): void {
    const known = kind === 'tuple' ? this.#interned.tuple(items) : null;
    if (known !== null && known.items !== items) return this.push(known);
    this.charge(WEIGHT.sequence + items.length * WEIGHT.slot);
    this.push(known ?? { kind, items });
  }

  dict(flat: readonly PickleValue[]): void {
    this.charge(WEIGHT.dict);
    const dict = emptyDict();
    this.#setEntries(dict, flat, flat.length > 0);
    this.push(dict);
  }

  /** Adds a small node: a float, a bytes object, a reference. */
  leaf(value: PickleValue): void {
    this.charge(WEIGHT.leaf);
    this.push(value);
  }

  text(value: string): void {
    this.charge(WEIGHT.leaf + stringBytes(value));
    this.push(value);
  }

  append(items: readonly PickleValue[], opcode: string): void {
    const target = this.top();
    this.#ledger.change(target);
    if (this.#consumer !== null && this.#isListTaken(this.#consumer, target, items, opcode === 'APPENDS')) return;
    this.charge(items.length * WEIGHT.slot);
    if (isNode(target) && (target.kind === 'list' || isChangeable(target) || (target.kind === 'set' && opcode === 'ADDITEMS'))) {
      if (target.items?.length === 1) this.charge(WEIGHT.growth);
      this.#containers.extend(target, items);
    } else if (!isNode(target) || target.kind !== 'persistent') throw this.invalid(`${opcode} needs a container, not ${describe(target)}`);
  }

  #isListTaken(consumer: PickleConsumer, target: PickleValue, items: readonly PickleValue[], hasMark: boolean): boolean {
    return isNode(target) && target.kind === 'list' && this.#isTaken(consumer.takeItems(target, items), hasMark);
  }

  /** Accounts for the consumer's answer. A taken batch with a mark of its own is released. */
  #isTaken(bytes: number | null | undefined, hasMark: boolean): boolean {
    if (bytes === null || bytes === undefined) return false;
    if (hasMark) this.#ledger.release();
    this.#ledger.pin(bytes);
    this.#weigh();
    return true;
  }

  setItems(flat: readonly PickleValue[], hasMark = false): void {
    const target = this.top();
    this.#ledger.change(target);
    if (isNode(target) && target.kind === 'dict') return this.#setEntries(target, flat, hasMark);
    if (isChangeable(target)) {
      if (target.entries === undefined) this.charge(WEIGHT.dict);
      target.entries ??= emptyDict();
      return this.#setEntries(target.entries, flat, hasMark);
    }
    if (isNode(target) && (target.kind === 'persistent' || target.kind === 'list')) return;
    throw this.invalid(`SETITEMS needs a dictionary, not ${describe(target)}`);
  }

  #setEntries(dict: PickleDict, flat: readonly PickleValue[], hasMark: boolean): void {
    if (flat.length === 0) return;
    if (flat.length % 2 !== 0) throw this.invalid('sets a key without a value');
    if (this.#isTaken(this.#consumer?.takeEntries(dict, flat), hasMark)) return;
    const keys = everySecond(flat, 0);
    const unhashable = keys.find((key) => isNode(key) && UNHASHABLE.has(key.kind));
    if (unhashable !== undefined) throw this.invalid(`uses ${describe(unhashable)} as a key`);
    const isGrowing = dict.keys.length === 1 || dict.keys.length === 2;
    const isShared = this.#containers.setEntries(dict, keys, everySecond(flat, 1));
    const ownKeys = isShared ? 0 : WEIGHT.array + keys.length * WEIGHT.slot;
    this.charge(keys.length * WEIGHT.slot + ownKeys + (isGrowing ? 2 * WEIGHT.growth : 0));
  }

  global(module: PickleValue, name: PickleValue): PickleGlobal {
    if (typeof module === 'string' && typeof name === 'string') return this.#register(module, name);
    // Only running the pickle would reveal this name. Holdfast cannot look it up, and no honest
    // writer produces it.
    if (isComputed(module) || isComputed(name)) return this.#register(part(module), part(name));
    throw this.invalid(`STACK_GLOBAL needs two strings, not ${describe(module)} and ${describe(name)}`);
  }

  #register(givenModule: string, givenName: string): PickleGlobal {
    const module = clip(givenModule);
    const name = clip(givenName);
    const known = this.globals.find(module, name);
    if (known !== null) return known;
    if (this.globals.size >= PICKLE_LIMITS.globals) throw this.limit(`imports more than ${PICKLE_LIMITS.globals} names`);
    // Counts the names, their key in the register, and their description in the report.
    this.#ledger.pin(2 * WEIGHT.call + 3 * (stringBytes(module) + stringBytes(name)));
    this.#weigh();
    return this.globals.add({ kind: 'global', module, name, offset: this.offset });
  }

  call(how: PickleCall['how'], callable: PickleValue, args: PickleValue, kwargs?: PickleValue): void {
    if (!isNode(callable) || UNCALLABLE.has(callable.kind)) throw this.invalid(`calls ${describe(callable)}`);
    if (!isNode(args) || (args.kind !== 'tuple' && !isComputed(args)))
      throw this.invalid(`calls with ${describe(args)} in place of a tuple`);
    this.globals.noteCall(how, callable, args, this.offset);
    const call: PickleCall = { kind: 'call', how, callable, args, state: undefined };
    const known = kwargs === undefined ? this.#interned.call(call) : { ...call, kwargs };
    if (known === call || kwargs !== undefined) this.charge(WEIGHT.call);
    this.push(known);
  }

  /** Makes a call from arguments that came off the stack one by one. */
  callWith(callable: PickleValue, items: PickleValue[]): void {
    this.sequence('tuple', items);
    this.call('call', callable, this.pop());
  }

  build(): void {
    const state = this.pop();
    const target = this.top();
    this.#ledger.change(target);
    if (isChangeable(target)) target.state = state;
    else if (isNode(target) && target.kind === 'global') this.globals.noteChange(target, this.offset);
    else if (!isNode(target) || target.kind !== 'persistent') throw this.invalid(`sets the state of ${describe(target)}`);
  }

  persistentId(id: PickleValue): void {
    const reference: PicklePersistent = { kind: 'persistent', id, offset: this.offset };
    this.charge(WEIGHT.leaf + WEIGHT.slot);
    this.#ledger.leak();
    this.persistent.push(reference);
    this.push(reference);
  }
}

const UNHASHABLE: ReadonlySet<string> = new Set(['list', 'dict', 'set']);
const UNCALLABLE: ReadonlySet<string> = new Set(['float', 'bytes', 'huge-int', 'list', 'tuple', 'set', 'frozenset', 'dict', 'out-of-band']);

function isChangeable(value: PickleValue): value is PickleCall {
  return isNode(value) && value.kind === 'call' && !isSize(value);
}

/**
 * The longest name that is kept; Python could not import a longer one. A cut name ends in a mark,
 * so that it matches no allowed name.
 */
const LONGEST_NAME = 512;

/** Cuts a name into a copy, because a slice of a string keeps all of it in memory. */
function clip(name: string): string {
  return name.length > LONGEST_NAME ? `${Buffer.from(name.slice(0, LONGEST_NAME)).toString()}…` : name;
}

const TWO_BYTES = /[^\u0000-\u00ff]/;

/** Returns the memory that V8 takes for the characters of a string. */
function stringBytes(value: string): number {
  return TWO_BYTES.test(value) ? 2 * value.length : value.length;
}

/** Returns every second item, in an array of exactly that length. */
function everySecond(flat: readonly PickleValue[], start: 0 | 1): PickleValue[] {
  const half = new Array<PickleValue>(flat.length / 2);
  for (let i = 0; i < half.length; i++) half[i] = flat[i * 2 + start] as PickleValue;
  return half;
}

/**
 * True for a value that only a real load would know: the result of a call, or the target of a
 * persistent id.
 */
function isComputed(value: PickleValue): boolean {
  return isNode(value) && (value.kind === 'call' || value.kind === 'persistent');
}

function part(value: PickleValue): string {
  return typeof value === 'string' ? value : '<computed>';
}

/** Describes the kind of a value, for a message. */
function describe(value: PickleValue): string {
  if (value === null) return 'None';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'a boolean';
  if (!isNode(value)) return 'an integer';
  return `a ${value.kind}`;
}
