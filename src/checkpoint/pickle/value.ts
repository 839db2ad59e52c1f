/**
 * What a pickle says, as inert data. Nothing in it was imported, called or built: where a load would import a name there is a
 * `global`, where it would call something there is a `call` with what it would be called with.
 *
 * `None`, booleans, text and integers are plain JavaScript values (an integer that a number cannot hold is a bigint); everything else
 * is a node. The graph can share nodes and contain itself, because pickles can: never follow it by plain recursion, use the accessors.
 */
export type PickleValue = null | boolean | number | bigint | string | PickleNode;

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

export interface PickleFloat {
  readonly kind: 'float';
  readonly value: number;
}

/** A bytes object, a bytearray, or a string of Python 2 that is not text. `bytes` is null when it is too long to be kept. */
export interface PickleBytes {
  readonly kind: 'bytes';
  readonly length: number;
  readonly bytes: Buffer | null;
  /** Where its first byte lies in the source that was walked. */
  readonly offset: number;
}

/** An integer so long that its digits were not read. */
export interface PickleHugeInt {
  readonly kind: 'huge-int';
  readonly length: number;
}

export interface PickleSequence {
  readonly kind: 'list' | 'tuple' | 'set' | 'frozenset';
  readonly items: PickleValue[];
}

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

/** A call a load would make, and what it would then do to the result. */
export interface PickleCall {
  readonly kind: 'call';
  /** `new` stands for `cls.__new__(cls, *args)`, which does not run `__init__`. */
  readonly how: 'call' | 'new';
  readonly callable: PickleValue;
  readonly args: PickleValue;
  readonly kwargs?: PickleValue;
  /** What BUILD would hand to `__setstate__` or put into `__dict__`. */
  state: PickleValue | undefined;
  /** What would be appended to it or added (a list, deque or set of a class of its own). */
  items?: PickleValue[];
  /** What would be set in it (an OrderedDict and other dictionaries of a class of their own). */
  entries?: PickleDict;
}

/** A reference to something outside the pickle: torch stores its storages so. */
export interface PicklePersistent {
  readonly kind: 'persistent';
  readonly id: PickleValue;
  readonly offset: number;
}

/** A buffer that travels beside the pickle (protocol 5). */
export interface PickleOutOfBand {
  readonly kind: 'out-of-band';
}

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

/** The call, when `value` is one; with `name`, only when that global is what is called. */
export function callOf(value: PickleValue | undefined, name?: string): PickleCall | null {
  if (!isNode(value) || value.kind !== 'call') return null;
  return name === undefined || globalName(value.callable) === name ? value : null;
}

/** Full name of the class or function whose result the value is (`collections.OrderedDict`), or null. */
export function typeName(value: PickleValue | undefined): string | null {
  return globalName(callOf(value)?.callable);
}

/** The dictionary a value is or behaves as: a dict, an OrderedDict, a defaultdict. */
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

/** An attribute of an object that was built from its `__dict__` (a dataclass, a namespace); undefined when it has none. */
export function attribute(value: PickleValue | undefined, name: string): PickleValue | undefined {
  const state = callOf(value)?.state;
  if (state === undefined) return undefined;
  const direct = dictGet(state, name);
  if (direct !== undefined) return direct;
  const parts = asItems(state);
  if (parts === null || parts.length !== 2) return undefined;
  return dictGet(parts[1], name) ?? dictGet(parts[0], name);
}

/** An attribute of an object, or an entry of a dictionary: argument lists are saved as either. */
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
