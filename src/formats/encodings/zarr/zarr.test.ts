import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memorySource } from '../../../bytes/source/byte-source.ts';
import { parseArrayMetadata } from './array-metadata.ts';
import { inspectChunk, readScalar } from './chunk.ts';
import { parseArrayKey } from './chunk-key.ts';
import { measureZstdFrame } from './zstd-frame.ts';

const source = (bytes: Uint8Array) => memorySource(Buffer.from(bytes), 'chunk');

describe('parseArrayKey', () => {
  it.each([
    ['params.kernel/.zarray', 2, { kind: 'metadata', array: 'params.kernel' }],
    ['params.kernel/1.12', 2, { kind: 'chunk', array: 'params.kernel', at: [1, 12] }],
    ['layer/0/0', 2, { kind: 'chunk', array: 'layer/0', at: [0] }],
    ['.zarray', 2, { kind: 'metadata', array: '' }],
    ['params.kernel/zarr.json', 3, { kind: 'metadata', array: 'params.kernel' }],
    ['params.kernel/c/1/12', 3, { kind: 'chunk', array: 'params.kernel', at: [1, 12] }],
    ['step/c', 3, { kind: 'chunk', array: 'step', at: [] }],
    ['c/c/0', 3, { kind: 'chunk', array: 'c', at: [0] }],
    ['params.kernel/zarr.json', 2, null],
    ['params.kernel/name', 3, null],
  ] as const)('takes %s of version %i apart', (key, version, parsed) => {
    expect(parseArrayKey(key, version)).toEqual(parsed);
  });
});

describe('measureZstdFrame', () => {
  it('finds the end of real frames without decompressing them', () => {
    fc.assert(
      fc.property(fc.nat(400_000), fc.boolean(), (length, isRandom) => {
        const bytes = Buffer.alloc(length, 7);
        if (isRandom) for (let i = 0; i < length; i++) bytes[i] = (i * 2654435761) >>> 13;
        // When the output fills a chunk to the last byte, Node.js appends an empty frame.
        const frame = zstdCompressSync(bytes, { chunkSize: 1 << 20 });
        expect(measureZstdFrame(source(frame)).kind).toBe('whole');
      }),
      { numRuns: 25, examples: [[284_190, true]] },
    );
  });

  it('distinguishes a truncated frame from one with trailing bytes', () => {
    const frame = zstdCompressSync(Buffer.alloc(300_000, 'some text that repeats'));
    for (const length of [0, 4, 6, 9, frame.length - 1]) expect(measureZstdFrame(source(frame.subarray(0, length))).kind).toBe('cut');
    expect(measureZstdFrame(source(Buffer.concat([frame, Buffer.alloc(1)]))).kind).toBe('bad');
    expect(measureZstdFrame(source(Buffer.alloc(100))).kind).toBe('bad');
  });

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void measureZstdFrame(source([0x28, 0xb5, 0x2f, 0xfd, ...bytes] as never))),
    );
  });
});

describe('a zarr array', () => {
  const plain = JSON.stringify({ chunks: [2, 3], compressor: null, dtype: '<f4', filters: null, shape: [5, 3], zarr_format: 2 });

  it('has as many chunks as its shape needs', () => {
    expect(parseArrayMetadata(plain, 2)).toMatchObject({ grid: [3, 1], chunks: 3, chunkBytes: 24, encoding: 'raw' });
  });

  it('accepts an uncompressed chunk only at its exact size', () => {
    const array = parseArrayMetadata(plain, 2);
    if (typeof array === 'string') throw new Error(array);
    expect(inspectChunk(source(Buffer.alloc(24)), array)).toBeNull();
    expect(inspectChunk(source(Buffer.alloc(23)), array)?.kind).toBe('cut');
    expect(inspectChunk(source(Buffer.alloc(25)), array)?.kind).toBe('corrupt');
  });

  it('gives its value when it is a scalar', () => {
    const array = parseArrayMetadata('{"chunks":[],"compressor":{"id":"zstd"},"dtype":"<i8","filters":null,"shape":[],"zarr_format":2}', 2);
    if (typeof array === 'string') throw new Error(array);
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(123456n);
    expect(readScalar(source(zstdCompressSync(bytes)), array)).toBe(123456);
    expect(readScalar(source(zstdCompressSync(Buffer.alloc(9))), array)).toBeNull();
    expect(readScalar(source(bytes), array)).toBeNull();
  });

  it('is parsed without a throw from any JSON', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(2 as const, 3 as const), (text, version) => {
        expect(['string', 'object']).toContain(typeof parseArrayMetadata(text, version));
      }),
    );
  });
});
