import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixtureData } from '../../../test/support/fixture-copy.ts';
import { crc32c, maskCrc32c } from '../../core/checksums.ts';
import { memorySource } from '../../bytes/source/byte-source.ts';
import { readSortedTable } from './sorted-table.ts';

const INDEX = readFileSync(join(fixtureData('tf-checkpoint'), 'ckpt-100.index'));

function keysOf(bytes: Buffer): { keys: string[]; problem: string | null } {
  const keys: string[] = [];
  const problem = readSortedTable(memorySource(bytes, 'x.index'), (key) => keys.push(key.toString()));
  return { keys, problem: problem?.kind ?? null };
}

/** A table of one data block, compressed by Snappy as a single literal. */
function compressedTable(): Buffer {
  const entry = Buffer.from([0, 1, 1, 0x6b, 0x76]);
  const restarts = Buffer.from([0, 0, 0, 0, 1, 0, 0, 0]);
  const plain = Buffer.concat([entry, restarts]);
  const data = sealed(Buffer.concat([Buffer.from([plain.length, (plain.length - 1) << 2]), plain]), 1);
  const meta = sealed(restarts, 0);
  const index = sealed(Buffer.concat([Buffer.from([0, 1, 2, 0x6b, 0, data.length - 5]), restarts]), 0);
  const footer = Buffer.alloc(48);
  footer.set([data.length, meta.length - 5, data.length + meta.length, index.length - 5]);
  footer.write('57fb808b247547db', 40, 'hex');
  return Buffer.concat([data, meta, index, footer]);
}

function sealed(block: Buffer, type: number): Buffer {
  const typed = Buffer.concat([block, Buffer.from([type])]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(maskCrc32c(crc32c(typed)));
  return Buffer.concat([typed, sum]);
}

describe('readSortedTable', () => {
  it('visits the keys of a real index in order, the header first', () => {
    const { keys, problem } = keysOf(INDEX);
    expect(problem).toBeNull();
    expect(keys).toHaveLength(16);
    expect(keys[0]).toBe('');
    expect(keys[1]).toBe('_CHECKPOINTABLE_OBJECT_GRAPH');
  });

  it('reads blocks that Snappy compressed', () => {
    expect(keysOf(compressedTable())).toEqual({ keys: ['k'], problem: null });
  });

  it('detects every flipped bit, except in the padding of the footer', () => {
    const padding = [INDEX.length - 48, INDEX.length - 8] as const;
    for (let offset = 0; offset < INDEX.length; offset++) {
      if (offset >= padding[0] && offset < padding[1]) continue;
      const damaged = Buffer.from(INDEX);
      damaged[offset] = (damaged[offset] ?? 0) ^ 4;
      expect(keysOf(damaged).problem, `offset ${offset}`).not.toBeNull();
    }
  });

  it('returns a problem or entries for any damage, and never throws', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(INDEX.length - 1), fc.nat(255)), { maxLength: 8 }), fc.nat(INDEX.length), (edits, length) => {
        const damaged = Buffer.from(INDEX);
        for (const [offset, byte] of edits) damaged[offset] = byte;
        expect(() => keysOf(damaged.subarray(0, length))).not.toThrow();
      }),
    );
  });
});
