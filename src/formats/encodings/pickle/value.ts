/**
 * The content of a pickle, as inert data: nothing in it was imported, called or built. Each name
 * that a load would import is a `global`. Each call that it would make is a `call` with the
 * arguments.
 *
 * `None`, booleans, text and integers are plain JavaScript values; an integer too large for a
 * number is a bigint. Everything else is a node. The graph can share nodes and contain itself,
 * because pickles can. Never follow it by plain recursion; use the accessors.
 */
export type PickleValue = null | boolean | number | bigint | string | PickleNode;

/** A value of a pickle that is more than a plain scalar. */
export type PickleNode =
  | PickleFloat
  | PickleBytes
  | PickleHugeInt
  | PickleSequence
  | PickleDict
  | PickleGlobal
  | PickleCall
  | PicklePersistent
  | PickleOutOfBand;

/** A float of a pickle. */
export interface PickleFloat {
  readonly kind: 'float';
  readonly value: number;
}

/**
 * A bytes object, a bytearray, or a string of Python 2 that is not text. `bytes` is null when it is
 * too long to keep.
 */
export interface PickleBytes {
  readonly kind: 'bytes';
  readonly length: number;
  readonly bytes: Buffer | null;
  /** Where its first byte lies in the source of the walk. */
  readonly offset: number;
}

/** An integer too long for its digits to be read. */
export interface PickleHugeInt {
  readonly kind: 'huge-int';
  readonly length: number;
}

/** A list, tuple or other sequence of a pickle. */
export interface PickleSequence {
  readonly kind: 'list' | 'tuple' | 'set' | 'frozenset';
  readonly items: PickleValue[];
}

/** A dictionary of a pickle. */
export interface PickleDict {
  readonly kind: 'dict';
  readonly keys: PickleValue[];
  readonly values: PickleValue[];
}

/** A name a load would import. */
export interface PickleGlobal {
  readonly kind: 'global';
  readonly module: string;
  readonly name: string;
  readonly offset: number;
}

/** A call a load would make, and the changes it would then make to the result. */
export interface PickleCall {
  readonly kind: 'call';
  /** `new` stands for `cls.__new__(cls, *args)`, which does not run `__init__`. */
  readonly how: 'call' | 'new';
  readonly callable: PickleValue;
  readonly args: PickleValue;
  readonly kwargs?: PickleValue;
  /** The value that BUILD would hand to `__setstate__` or put into `__dict__`. */
  state: PickleValue | undefined;
  /** Items that a load would append or add (to a list, deque or set with a class of its own). */
  items?: PickleValue[];
  /**
   * Entries that a load would set (in an OrderedDict or another dictionary with a class of its
   * own).
   */
  entries?: PickleDict;
}

/** A reference to something outside the pickle, as torch stores its storages. */
export interface PicklePersistent {
  readonly kind: 'persistent';
  readonly id: PickleValue;
  readonly offset: number;
}

/** A buffer stored outside the pickle (protocol 5). */
export interface PickleOutOfBand {
  readonly kind: 'out-of-band';
}

/** Whether the value is a node of the tree, not a plain scalar. */
export function isNode(value: PickleValue | undefined): value is PickleNode {
  return typeof value === 'object' && value !== null;
}

function isPlainDict(value: PickleValue | undefined): value is PickleDict {
  return isNode(value) && value.kind === 'dict';
}

/** `module.name` of a global, or null for anything else. */
export function globalName(value: PickleValue | undefined): string | null {
  return isNode(value) && value.kind === 'global' ? `${value.module}.${value.name}` : null;
}

/** Returns the call, when `value` is one; with `name`, only when the call is to that global. */
export function callOf(value: PickleValue | undefined, name?: string): PickleCall | null {
  if (!isNode(value) || value.kind !== 'call') return null;
  return name === undefined || globalName(value.callable) === name ? value : null;
}

/**
 * Full name of the class or function whose result the value is (`collections.OrderedDict`), or
 * null.
 */
export function typeName(value: PickleValue | undefined): string | null {
  return globalName(callOf(value)?.callable);
}

/** The dictionary that a value is, or behaves as: a dict, an OrderedDict, a defaultdict. */
export function asDict(value: PickleValue | undefined): PickleDict | null {
  if (isPlainDict(value)) return value;
  const call = callOf(value);
  if (call === null) return null;
  return call.entries ?? (EMPTY_DICT_TYPES.has(globalName(call.callable) ?? '') ? { kind: 'dict', keys: [], values: [] } : null);
}

const EMPTY_DICT_TYPES = new Set(['collections.OrderedDict', 'collections.defaultdict', 'collections.Counter', 'builtins.dict']);

/** The value at a key (text or integer) of a dictionary; undefined when there is none. */
export function dictGet(value: PickleValue | undefined, key: string | number): PickleValue | undefined {
  const dict = asDict(value);
  if (dict === null) return undefined;
  const index = dict.keys.lastIndexOf(key);
  return index === -1 ? undefined : dict.values[index];
}

/** The value at the end of a path of keys. */
export function dictPath(value: PickleValue | undefined, ...path: readonly (string | number)[]): PickleValue | undefined {
  let here = value;
  for (const key of path) here = dictGet(here, key);
  return here;
}

/** The text keys of a dictionary, in order, with their values. */
export function* dictEntries(value: PickleValue | undefined): Generator<readonly [string, PickleValue]> {
  const dict = asDict(value);
  if (dict === null) return;
  for (let i = 0; i < dict.keys.length; i++) {
    const key = dict.keys[i];
    const entry = dict.values[i];
    if (typeof key === 'string' && entry !== undefined) yield [key, entry];
  }
}

/**
 * An attribute of an object built from its `__dict__` (a dataclass, a namespace); undefined when it
 * has none.
 */
export function attribute(value: PickleValue | undefined, name: string): PickleValue | undefined {
  const state = callOf(value)?.state;
  if (state === undefined) return undefined;
  const direct = dictGet(state, name);
  if (direct !== undefined) return direct;
  const parts = asItems(state);
  if (parts === null || parts.length !== 2) return undefined;
  return dictGet(parts[1], name) ?? dictGet(parts[0], name);
}

/**
 * An attribute of an object, or an entry of a dictionary, because frameworks save argument lists as
 * either.
 */
export function member(value: PickleValue | undefined, name: string): PickleValue | undefined {
  return dictGet(value, name) ?? attribute(value, name);
}

/** The items of a list, a tuple, a set, or an object that behaves as a list. */
export function asItems(value: PickleValue | undefined): readonly PickleValue[] | null {
  if (!isNode(value)) return null;
  if (value.kind === 'call') return value.items ?? null;
  return 'items' in value ? value.items : null;
}

/** The positional arguments of a call. */
export function argsOf(call: PickleCall): readonly PickleValue[] {
  return asItems(call.args) ?? [];
}

/** A whole number that a JavaScript number holds exactly; a NumPy scalar counts. */
export function asInt(value: PickleValue | undefined): number | null {
  if (typeof value === 'number') return value;
  return numpyInt(value);
}

/** The number of an integer, a float or a boolean. */
export function asNumber(value: PickleValue | undefined): number | null {
  if (isNode(value) && value.kind === 'float') return value.value;
  return asInt(value);
}

/** The value as a string, or null when it is another kind. */
export function asString(value: PickleValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

const NUMPY_SCALAR = new Set(['numpy.core.multiarray.scalar', 'numpy._core.multiarray.scalar']);

/** `numpy.int64(5)` is pickled as a call of `scalar(dtype, bytes)`. */
function numpyInt(value: PickleValue | undefined): number | null {
  const call = callOf(value);
  if (call === null || !NUMPY_SCALAR.has(globalName(call.callable) ?? '')) return null;
  const [type, data] = argsOf(call);
  const code = argsOf(callOf(type) ?? call)[0];
  const bytes = rawBytes(data);
  if (typeof code !== 'string' || bytes === null) return null;
  const width = Number(code.slice(1));
  if (!/^[iu][1248]$/.test(code) || bytes.length !== width) return null;
  const read = code.startsWith('i') ? bytes.readIntLE(0, Math.min(width, 6)) : bytes.readUIntLE(0, Math.min(width, 6));
  if (width < 8) return read;
  const wide = code.startsWith('i') ? bytes.readBigInt64LE() : bytes.readBigUInt64LE();
  return Number.isSafeInteger(Number(wide)) ? Number(wide) : null;
}

/** Bytes as they are, or as protocols 0 to 2 write them: `_codecs.encode(text, 'latin1')`. */
export function rawBytes(value: PickleValue | undefined): Buffer | null {
  if (isNode(value) && value.kind === 'bytes') return value.bytes;
  const call = callOf(value, '_codecs.encode');
  const text = call === null ? null : asString(argsOf(call)[0]);
  return text === null ? null : Buffer.from(text, 'latin1');
}
