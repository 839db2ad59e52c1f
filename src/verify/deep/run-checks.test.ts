import { describe, expect, it } from 'vitest';
import { crc32, crc32c, hex32, maskCrc32c } from '../../core/checksums.ts';
import type { Check } from '../../bytes/hashing/check.ts';
import { compareCheck } from './run-checks.ts';
import { BATCH_BYTES, planBatches } from '../../bytes/hashing/task.ts';

const LENGTH = BATCH_BYTES * 2 + 5;

function checkOf(facts: Partial<Check>): Check {
  return {
    algorithm: 'crc32',
    file: 'f',
    offset: 0,
    length: LENGTH,
    encoding: 'stored',
    decodedLength: LENGTH,
    expected: '00000000',
    what: 'record',
    code: 'ZIP_CRC_MISMATCH',
    payloadBytes: LENGTH,
    ...facts,
  };
}

const part = (number: number, value: string) => ({ check: 0, part: number, value, expected: null, problem: null, isUnreadable: false });

describe('a long check', () => {
  const bytes = Buffer.alloc(LENGTH, 'holdfast');
  const pieces = [bytes.subarray(0, BATCH_BYTES), bytes.subarray(BATCH_BYTES, 2 * BATCH_BYTES), bytes.subarray(2 * BATCH_BYTES)];

  it('is cut into parts for several threads', () => {
    expect(planBatches('/', [checkOf({})]).map((batch) => batch.bytes)).toEqual([BATCH_BYTES, BATCH_BYTES, 5]);
  });

  it.each([
    ['crc32', (data: Buffer) => crc32(data), (value: number) => value],
    ['crc32c-masked', (data: Buffer) => crc32c(data), maskCrc32c],
  ] as const)('matches when its %s parts, in any order, give the stored value', (algorithm, sum, stored) => {
    const results = pieces.map((piece, index) => part(index, hex32(sum(piece)))).reverse();
    expect(compareCheck(checkOf({ algorithm, expected: hex32(stored(sum(bytes))) }), results)).toBe('match');
    expect(compareCheck(checkOf({ algorithm, expected: 'deadbeef' }), results)).toMatchObject({ expected: 'deadbeef' });
  });

  it('is not cut when its algorithm cannot be put together', () => {
    expect(planBatches('/', [checkOf({ algorithm: 'sha256' })])).toHaveLength(1);
    expect(planBatches('/', [checkOf({ encoding: 'deflate' })])).toHaveLength(1);
  });
});

it('many short checks are sent in several batches, because a batch travels to a worker as a copy', () => {
  const checks = Array.from({ length: 10_000 }, (_, index) => checkOf({ offset: index, length: 1, decodedLength: 1 }));
  const sizes = planBatches('/', checks).map(({ tasks }) => tasks.length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(10_000);
  expect(Math.max(...sizes)).toBeLessThan(5000);
});

it('unreadable bytes prove nothing about the checkpoint', () => {
  const unread = { ...part(0, ''), value: null, problem: 'cannot be read: EIO', isUnreadable: true };
  expect(compareCheck(checkOf({}), [unread])).toEqual({ problem: 'cannot be read: EIO', isUnreadable: true });
});

it('short checks of neighbouring bytes are sent together', () => {
  const checks = Array.from({ length: 100 }, (_, index) => checkOf({ offset: index * 10, length: 10 }));
  expect(planBatches('/', checks)).toHaveLength(1);
});
