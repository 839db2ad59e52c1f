import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../core/hostile-limits.ts';
import { type ByteSource, memorySource } from '../../../bytes/source/byte-source.ts';
import { asInt, asItems, asString, callOf, dictGet, globalName, isNode, typeName } from './value.ts';
import { type PickleResult, walkPickle } from './walk.ts';

/** Builds a pickle from text, in which `\xNN` stands for a byte. */
function walk(text: string): PickleResult {
  return walkPickle(memorySource(Buffer.from(text, 'latin1'), 'a.pkl'));
}

/** A source that repeats a few bytes without end and counts the bytes read. */
function endless(unit: string, size = LIMITS.pickleBytes * 2): ByteSource & { bytesRead: number } {
  const block = Buffer.from(unit.repeat(Math.ceil(70_000 / unit.length)), 'latin1');
  return {
    file: 'a.pkl',
    base: 0,
    size,
    bytesRead: 0,
    read(offset, length) {
      const start = offset % unit.length;
      const wanted = Math.min(length, size - offset);
      const bytes = wanted > 65_536 ? Buffer.alloc(wanted, unit, 'latin1') : block.subarray(start, start + wanted);
      this.bytesRead += bytes.length;
      return bytes;
    },
    slice() {
      throw new Error('nothing slices this');
    },
  };
}

const u64 = (value: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes.toString('latin1');
};

describe('the pickle walker', () => {
  it('describes a call and never makes it', () => {
    const { value, globals, failure } = walk("cos\nsystem\n(S'touch /tmp/pwned'\ntR.");
    expect(failure).toBeNull();
    expect(typeName(value)).toBe('os.system');
    expect(asItems(callOf(value)?.args)).toEqual(['touch /tmp/pwned']);
    expect(globals).toMatchObject([{ use: 'value', global: { module: 'os', name: 'system', offset: 0 } }]);
  });

  it.each([
    ['GLOBAL and REDUCE', 'cos\nsystem\n)R.'],
    ['STACK_GLOBAL', '\x80\x04\x8c\x02os\x8c\x06system\x93)R.'],
    ['STACK_GLOBAL with names from the memo', '\x80\x04\x8c\x02osq\x000\x8c\x06systemq\x010h\x00h\x01\x93)R.'],
    ['INST', '(ios\nsystem\n.'],
    ['OBJ', '(cos\nsystem\no.'],
    ['NEWOBJ', 'cos\nsystem\n)\x81.'],
    ['NEWOBJ_EX', 'cos\nsystem\n)}\x92.'],
    ['a callable from the memo', 'cos\nsystem\nq\x050h\x05)R.'],
  ])('finds the function called through %s', (_, text) => {
    const { globals, failure, value } = walk(text);
    expect(failure).toBeNull();
    expect(typeName(value)).toBe('os.system');
    expect(globals).toHaveLength(1);
    expect(globals[0]?.use).not.toBe('reference');
  });

  it('finds names that the pickle only imports', () => {
    expect(walk('cos\nsystem\n.').globals).toMatchObject([{ use: 'reference' }]);
  });

  it('reports a name that only the load itself could compute', () => {
    const joined = '\x80\x04\x8c\x02os\x8c\x08builtins\x8c\x03str\x93\x8c\x06system\x85R\x93)R.';
    expect(walk(joined).globals.map(({ global }) => globalName(global))).toEqual(['builtins.str', 'os.<computed>']);
  });

  it.each(['\x82\x05.', '\x83\x05\x00.', '\x84\x05\x00\x00\x00.'])('names extension codes, whose meaning only the loader knows', (text) => {
    expect(globalName(walk(text).value)).toBe('copyreg.<extension 5>');
  });

  it('records a call to the result of another call, and a change to an imported object', () => {
    expect(walk('cbuiltins\ngetattr\n)R)R.').computedCalls).toEqual([21]);
    expect(walk('ctorch\nnn\n}b.').globals).toMatchObject([{ changedAt: 11 }]);
  });

  it('resolves a persistent id of an old torch file to its class', () => {
    const { computedCalls, globals } = walk("(S'module'\ncm\nC\nNNtQ)\x81.");
    expect(computedCalls).toEqual([]);
    expect(globals).toMatchObject([{ use: 'new' }]);
  });

  it('supports structures that contain themselves', () => {
    const { value } = walk(']q\x00h\x00a.');
    expect(asItems(value)?.[0]).toBe(value);
  });

  it('keeps the attributes of objects with the same attribute names apart', () => {
    const object = (n: number) => `cm\nC\n)\x81}(S'a'\nK${String.fromCharCode(n)}S'b'\nNub`;
    const items = asItems(walk(`](${object(1)}${object(2)}e.`).value) ?? [];
    expect(items.map((item) => asInt(dictGet(callOf(item)?.state, 'a')))).toEqual([1, 2]);
  });

  it('adds to one dictionary without adding to another with the same keys', () => {
    const items = asItems(walk("]((S'a'\nK\x01d(S'a'\nK\x02dS'b'\nK\x03se.").value) ?? [];
    expect(items.map((item) => dictGet(item, 'b'))).toEqual([undefined, 3]);
  });

  it('gives the offset after STOP, whatever surrounds the pickle', () => {
    const source = memorySource(Buffer.from('junkK\x05.more'), 'a.pkl');
    expect(walkPickle(source, { start: 4 })).toMatchObject({ value: 5, end: 7 });
  });

  it('keeps short bytes, and only the length and place of long ones', () => {
    const long = walk(`B\x00\x00\x02\x00${'x'.repeat(0x20000)}.`);
    expect(long.value).toMatchObject({ kind: 'bytes', length: 0x20000, bytes: null, offset: 5 });
    expect(walk('C\x02ab.').value).toMatchObject({ kind: 'bytes', bytes: Buffer.from('ab') });
  });

  it('reads large integers, and only measures absurdly long ones', () => {
    expect(walk('\x8a\x02\xff\xff.').value).toBe(-1);
    expect(walk('\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.').value).toBe(0xffff_ffff_ffff_ffffn);
    expect(walk(`L${'9'.repeat(5000)}L\n.`).value).toMatchObject({ kind: 'huge-int', length: 5000 });
    expect(walk(`\x8b\x00\x00\x01\x00${'x'.repeat(0x10000)}.`).value).toMatchObject({ kind: 'huge-int' });
  });

  it.each([
    ['there is no STOP', 'K\x05'],
    ['bytes near 2^64 are announced', `\x80\x04\x8e${u64(0xffff_ffff_ffff_fff0n)}.`],
    ['text of 2^53 bytes is announced', `\x8d${u64(1n << 53n)}.`],
    ['a long integer of 2 GiB is announced', '\x8b\xff\xff\xff\x7f.'],
    ['a frame reaches past the end', `\x80\x04\x95${u64(100n)}K\x05.`],
    ['a line has no end', 'cos'],
    ['nothing is there at all', ''],
  ])('reports truncation when %s', (_, text) => {
    expect(walk(text).failure?.code).toBe('PICKLE_TRUNCATED');
  });

  it.each([
    ['an opcode does not exist', '\xff.'],
    ['the stack is empty', '.'],
    ['a mark is missing', 'Kt.'.replace('K', 'N')],
    ['a value below a mark is taken', 'N(R.'],
    ['a memo entry was never stored', 'h\x07.'],
    ['the protocol is from the future', '\x80\x06N.'],
    ['a number is none', 'Iabc\n.'],
    ['a float is none', 'Fabc\n.'],
    ['a string has no quotes', 'Sabc\n.'],
    ['text is not UTF-8', 'X\x01\x00\x00\x00\xff.'],
    ['a key has no value', '}(Nu.'],
    ['a list is used as a key', '}(]Nu.'],
    ['a number is called', 'K\x05)R.'],
    ['arguments are no tuple', 'cm\nC\n]R.'],
    ['a number is appended to', 'K\x05Na.'],
    ['a length is negative', 'T\xff\xff\xff\xff.'],
    ['a long integer has a negative length', '\x8b\xff\xff\xff\xff.'],
    ['a name is no text', '\x80\x04NN\x93.'],
  ])('reports damage when %s', (_, text) => {
    expect(walk(text).failure?.code).toBe('PICKLE_INVALID');
  });

  it.each([
    ['marks', '('],
    ['lists', ']'],
    ['text that is remembered', '\x8c\x01a\x94'],
    ['opcodes', 'N0'],
    ['a list that doubles itself', ']q\x00(h\x00h\x00e'],
    ['imports', undefined],
  ])('stops at the limit for %s', (_, unit) => {
    const source = unit === undefined ? null : endless(unit);
    const names = Array.from({ length: 20_000 }, (_unused, i) => `cm\nC${i}\n0`).join('');
    const result = source === null ? walk(names) : walkPickle(source);
    expect(result.failure?.code).toBe('LIMIT_EXCEEDED');
    expect(source?.bytesRead ?? 0).toBeLessThanOrEqual(LIMITS.pickleBytes + 70_000);
  });

  it('stops at the limit on a line without an end', () => {
    expect(walkPickle(endless('V')).failure?.code).toBe('LIMIT_EXCEEDED');
  });

  it('skips payloads without reading them', () => {
    const source = endless(`\x8e${u64(1n << 20n)}`, 1 << 30);
    const result = walkPickle(source);
    expect(result.failure).not.toBeNull();
    expect(source.bytesRead).toBeLessThan(2_000_000);
  });

  it('reads a value from a sparse memo', () => {
    const { value, failure } = walk('N\x72\xff\xff\xff\xff0K\x010\x6a\xff\xff\xff\xff.');
    expect(failure).toBeNull();
    expect(value).toBeNull();
  });

  it('reads a pickle that Python 2 wrote', () => {
    const { value } = walk("(dp0\nS'a\\tb'\np1\nI01\nsU\x02\xff\xfeVx\\u20ac\nsP42\n0.");
    const [first, second] = isNode(value) && value.kind === 'dict' ? value.keys : [];
    expect(asString(first)).toBe('a\tb');
    expect(second).toMatchObject({ kind: 'bytes', length: 2 });
    expect(isNode(value) && value.kind === 'dict' ? value.values : null).toEqual([true, 'x€']);
  });
});
