import { describe, expect, it } from 'vitest';
import { type ByteSource, memorySource } from '../../../bytes/source/byte-source.ts';
import type { PickleConsumer } from './consumer.ts';
import { asItems, dictGet, type PickleValue } from './value.ts';
import { type PickleResult, walkPickle } from './walk.ts';

/** Takes every entry of every dictionary and keeps it unchanged. */
class Collector implements PickleConsumer {
  readonly taken: PickleValue[] = [];

  takeItems(): null {
    return null;
  }

  takeEntries(_: unknown, flat: readonly PickleValue[]): number {
    for (const value of flat) this.taken.push(value);
    return 0;
  }
}

/** Takes the entries and forgets them. */
const drain: PickleConsumer = { takeItems: () => null, takeEntries: () => 0 };

function walk(text: string, consumer: PickleConsumer): PickleResult {
  return walkPickle(memorySource(Buffer.from(text, 'latin1'), 'a.pkl'), { consumer });
}

/** Builds a source of `start`, then `count` times `unit`, then `end`. */
function repeated(start: string, unit: string, count: number, end: string): ByteSource {
  const bytes = Buffer.from(start + unit.repeat(count) + end, 'latin1');
  return memorySource(bytes, 'a.pkl');
}

const TEXT = `\x8c\xff${'x'.repeat(255)}`;
/** Enough repetitions to exceed the weight limit of a tree. */
const MANY = 400_000;

describe('a consumer of a pickle', () => {
  it('receives the entries of a dictionary, which stays empty in the tree', () => {
    const consumer = new Collector();
    const { value, failure } = walk("}(S'a'\nK\x01S'b'\nK\x02u.", consumer);
    expect(failure).toBeNull();
    expect(consumer.taken).toEqual(['a', 1, 'b', 2]);
    expect(dictGet(value, 'a')).toBeUndefined();
  });

  it('leaves refused entries in the tree', () => {
    const { value } = walk("}S'a'\nK\x01s.", { takeItems: () => null, takeEntries: () => null });
    expect(dictGet(value, 'a')).toBe(1);
  });

  it('does not disturb the memo, so a taken value is recalled as the same value', () => {
    const consumer = new Collector();
    const { value, failure } = walk("](}(S'a'\n]\x94u0h\x00h\x00e.", consumer);
    expect(failure).toBeNull();
    const [first, second] = asItems(value) ?? [];
    expect(first).toBe(second);
    expect(consumer.taken[1]).toBe(first);
  });

  it.each([
    ['MEMOIZE', ']\x94N\x940N\x94000h\x00.'],
    ['PUT in any order', ']\x72\x05\x00\x00\x00N\x940N\x94000\x6a\x05\x00\x00\x00.'],
    ['an index that is put again', 'Nq\x000]q\x000h\x00.'],
  ])('sees the same memo indexes with %s', (_, text) => {
    const plain = walkPickle(memorySource(Buffer.from(text, 'latin1'), 'a.pkl'));
    const streamed = walk(text, drain);
    expect(streamed.failure?.message).toBe(plain.failure?.message);
    expect(streamed.value).toEqual(plain.value);
  });

  it.each([
    ['a dictionary that is its own value', '}\x94(K\x01h\x00u.'],
    ['a list that holds the dictionary it is in', '}\x94(K\x01]h\x00au.'],
    ['an object that is its own state', 'cm\nC\n)\x81\x94}(K\x01h\x00ub.'],
    ['an object that is changed after it was taken', '}(K\x01cm\nC\n)\x81\x94u0h\x00}K\x02K\x03sb.'],
  ])('can take %s', (_, text) => {
    const consumer = new Collector();
    expect(walk(text, consumer).failure).toBeNull();
    expect(consumer.taken.length).toBeGreaterThan(0);
  });

  it('can take the content of a pickle larger than a tree may be', () => {
    expect(walkPickle(repeated('', `}(K\x01${TEXT}u0`, MANY, 'N.'), { consumer: drain })).toMatchObject({ value: null, failure: null });
  });

  it.each([
    ['goes into a list from the memo', ']\x940', `}(K\x01h\x00${TEXT}au0`, 'h\x00.'],
    ['goes into the state of an object from the memo', 'cm\nC\n)\x81\x94}b0', `}(K\x01h\x00h\x00${TEXT}\x86bu0`, 'h\x00.'],
    ['goes into a list that is put aside inside', '', `}(K\x01]q\x00${TEXT}au0`, 'h\x00.'],
    ['is what a persistent id stands for', '', `}(K\x01${TEXT}Qu0`, 'N.'],
  ])('still counts taken memory when the value %s', (_, start, unit, end) => {
    expect(walkPickle(repeated(start, unit, MANY, end), { consumer: drain }).failure?.code).toBe('LIMIT_EXCEEDED');
  });

  it('is charged for the memory that it reports to hold', () => {
    const greedy: PickleConsumer = { takeItems: () => null, takeEntries: () => 1_000_000 };
    expect(walkPickle(repeated('', '}(K\x01K\x02u0', 1000, 'N.'), { consumer: greedy }).failure?.code).toBe('LIMIT_EXCEEDED');
  });
});
