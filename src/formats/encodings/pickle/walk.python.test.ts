import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasPython, type PythonValue, pickleWithPython } from '../../../../test/support/python-pickle.ts';
import { memorySource } from '../../../bytes/source/byte-source.ts';
import { asDict, asItems, callOf, globalName, isNode, type PickleValue, rawBytes } from './value.ts';
import { walkPickle } from './walk.ts';

const text = fc.string({ maxLength: 20, unit: 'grapheme' });
const hex = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('hex'));
const leaf: fc.Arbitrary<PythonValue> = fc.oneof(
  fc.constant({ t: 'none' } as const),
  fc.record({ t: fc.constant('bool' as const), v: fc.boolean() }),
  fc.record({ t: fc.constant('int' as const), v: fc.oneof(fc.bigInt(), fc.integer().map(BigInt)).map(String) }),
  fc.record({
    t: fc.constant('float' as const),
    v: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom('nan' as const, 'inf' as const, '-inf' as const)),
  }),
  fc.record({ t: fc.constant('str' as const), v: text }),
  fc.record({ t: fc.constantFrom('bytes' as const, 'bytearray' as const), v: hex }),
  fc.record({
    t: fc.constantFrom('set' as const, 'frozenset' as const),
    v: fc.uniqueArray(fc.integer(), { maxLength: 5 }).map((items) => items.map((item) => ({ t: 'int' as const, v: String(item) }))),
  }),
);
const { value } = fc.letrec<{ value: PythonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    leaf,
    fc.record({
      t: fc.constantFrom('list' as const, 'tuple' as const, 'shared' as const, 'deque' as const),
      v: fc.array(tie('value'), { maxLength: 5 }),
    }),
    fc.record({
      t: fc.constantFrom('dict' as const, 'ordered' as const),
      v: fc.uniqueArray(fc.tuple(text, tie('value')), { maxLength: 5, selector: ([key]) => key }),
    }),
  ),
}));

/** Compares the walker's description with the values that Python pickled. */
function matches(walked: PickleValue | undefined, given: PythonValue): boolean {
  switch (given.t) {
    case 'none':
      return walked === null;
    case 'bool':
    case 'str':
      return walked === given.v;
    case 'int':
      return (typeof walked === 'number' || typeof walked === 'bigint') && BigInt(walked) === BigInt(given.v);
    case 'float':
      return isNode(walked) && walked.kind === 'float' && sameFloat(walked.value, given.v);
    case 'bytes':
    case 'bytearray':
      return bytesOf(walked)?.toString('hex') === given.v;
    case 'dict':
    case 'ordered':
      return entriesMatch(walked, given.v);
    case 'shared':
      return sharedMatches(walked, given.v);
    default:
      return itemsMatch(walked, given);
  }
}

function sameFloat(walked: number, given: number | string): boolean {
  if (typeof given === 'number') return walked === given;
  return Object.is(walked, { nan: Number.NaN, inf: Infinity, '-inf': -Infinity }[given]);
}

/** Old protocols write an empty bytes object and a bytearray as calls. */
function bytesOf(walked: PickleValue | undefined): Buffer | null {
  const direct = rawBytes(walked);
  const call = callOf(walked);
  if (direct !== null || call === null) return direct;
  const [first] = asItems(call.args) ?? [];
  return first === undefined ? Buffer.alloc(0) : rawBytes(first);
}

function entriesMatch(walked: PickleValue | undefined, entries: readonly (readonly [string, PythonValue])[]): boolean {
  const dict = asDict(walked) ?? (callOf(walked) === null ? null : { keys: [], values: [] });
  if (dict === null || dict.keys.length !== entries.length) return false;
  return entries.every(([key, entry], index) => dict.keys[index] === key && matches(dict.values[index], entry));
}

function sharedMatches(walked: PickleValue | undefined, items: readonly PythonValue[]): boolean {
  const parts = asItems(walked);
  return parts?.length === 3 && parts[0] === parts[1] && parts[2] === walked && itemsMatch(parts[0], { t: 'list', v: items });
}

function itemsMatch(walked: PickleValue | undefined, given: { readonly t: string; readonly v: readonly PythonValue[] }): boolean {
  // Protocols below 4 write sets as a call with a list.
  const call = callOf(walked);
  const items = asItems(walked) ?? asItems(asItems(call?.args)?.[0]) ?? (call === null ? null : []);
  if (items === null || items.length !== given.v.length) return false;
  if (given.t.endsWith('set')) return given.v.every((item) => items.some((found) => matches(found, item)));
  return given.v.every((item, index) => matches(items[index], item));
}

const withoutPython = hasPython() ? false : 'there is no python3 on the path to write pickles with';

describe.skipIf(withoutPython !== false)(
  `the pickle walker beside Python${withoutPython === false ? '' : ` (skipped: ${withoutPython})`}`,
  () => {
    it('describes the pickled values, and agrees with Python on the end and the names, in all protocols', () => {
      const given = fc.sample(value, { numRuns: 400, seed: 20 });
      const cases = given.flatMap((item) => [0, 1, 2, 3, 4, 5].map((protocol) => ({ value: item, protocol })));
      for (const [index, pickled] of pickleWithPython(cases).entries()) {
        const result = walkPickle(memorySource(Buffer.from(pickled.pickle, 'base64'), 'a.pkl'));
        const { value: expected, protocol } = cases[index] as (typeof cases)[number];
        expect(result.failure).toBeNull();
        expect(result.end).toBe(pickled.end);
        expect(result.protocol).toBe(protocol < 2 ? 0 : protocol);
        if (protocol < 4) expect(result.globals.map(({ global }) => globalName(global)).sort()).toEqual(pickled.globals);
        if (!matches(result.value, expected))
          expect.fail(`protocol ${protocol}: ${JSON.stringify(expected)} was read as ${JSON.stringify(result.value)}`);
      }
    });

    it('never throws on a truncated or changed pickle', () => {
      const cases = fc.sample(value, { numRuns: 100, seed: 21 }).map((item, index) => ({ value: item, protocol: index % 6 }));
      const pickles = pickleWithPython(cases).map(({ pickle }) => Buffer.from(pickle, 'base64'));
      fc.assert(
        fc.property(
          fc.constantFrom(...pickles),
          fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
          fc.nat(),
          (pickle, changes, cut) => {
            const bytes = Buffer.from(pickle);
            for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
            walkPickle(memorySource(bytes, 'a.pkl'));
            const shorter = walkPickle(memorySource(pickle.subarray(0, cut % pickle.length), 'a.pkl'));
            expect(shorter.failure?.code).toBe('PICKLE_TRUNCATED');
          },
        ),
        { numRuns: 3000 },
      );
    });
  },
);
