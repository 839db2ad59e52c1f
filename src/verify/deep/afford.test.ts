import { expect, it } from 'vitest';
import { Findings } from '../../formats/reading/findings.ts';
import { affordableFiles, type CheckedFile } from './afford.ts';
import type { Check } from '../../bytes/hashing/check.ts';

const GIB = 1024 ** 3;

function checkOf(facts: Partial<Check>): Check {
  return {
    algorithm: 'crc32',
    file: 'a',
    offset: 0,
    length: 1000,
    encoding: 'stored',
    decodedLength: 1000,
    expected: '00000000',
    what: 'record',
    code: 'ZIP_CRC_MISMATCH',
    payloadBytes: 1000,
    ...facts,
  };
}

/** The files that may be read, and the codes told. */
function afford(checks: readonly Check[], file: Partial<CheckedFile>): { names: string[]; codes: string[] } {
  const findings = new Findings();
  const fileOf = (name: string) => ({ path: `/${name}`, identity: name, size: 1000, allocated: 1000, ...file });
  const names = [...affordableFiles(checks, fileOf, findings).keys()];
  return { names, codes: findings.evidence.map(({ code }) => code) };
}

it('reads every byte of a file once, or twice if the format has two layers of checksums', () => {
  expect(afford([checkOf({}), checkOf({})], {})).toEqual({ names: ['a'], codes: [] });
});

it('does not read the same bytes many times', () => {
  expect(afford([checkOf({}), checkOf({}), checkOf({})], {})).toEqual({ names: [], codes: ['LIMIT_EXCEEDED'] });
});

it('knows a file under its other names', () => {
  const links = ['a', 'b', 'c'].map((file) => checkOf({ file }));
  expect(afford(links, { identity: 'one' }).names).toEqual([]);
  expect(afford(links, {}).names).toEqual(['a', 'b', 'c']);
});

it('does not read holes for hours', () => {
  const large = { size: 1000 * GIB, allocated: 4096 };
  expect(afford([checkOf({ length: 1000 * GIB })], large).codes).toEqual(['LIMIT_EXCEEDED']);
  expect(afford([checkOf({ length: GIB })], large).codes).toEqual([]);
});

it('unpacks data that is small enough', () => {
  expect(afford([checkOf({ encoding: 'deflate', decodedLength: 100 * GIB })], {}).codes).toEqual(['LIMIT_EXCEEDED']);
  expect(afford([checkOf({ encoding: 'deflate', decodedLength: GIB })], {}).codes).toEqual([]);
});

it('leaves out a file that is gone', () => {
  expect(affordableFiles([checkOf({})], () => null, new Findings()).size).toBe(0);
});
