import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Findings } from '../reading/findings.ts';
import { memorySource } from '../../bytes/source/byte-source.ts';
import { gguf } from './gguf.ts';
import { probe } from '../recognise.ts';

const whole = (id: string): Buffer => readFileSync(new URL(`../../../test/fixtures/whole/${id}/data/tiny.gguf`, import.meta.url));
const q8 = whole('gguf-q8');

function inspect(bytes: Buffer): Findings {
  const findings = new Findings();
  gguf.inspect(memorySource(bytes, 'tiny.gguf'), findings, probe);
  return findings;
}

const codes = (bytes: Buffer): string[] => inspect(bytes).evidence.map(({ code }) => code);

function edited(edit: (bytes: Buffer) => void): Buffer {
  const copy = Buffer.from(q8);
  edit(copy);
  return copy;
}

describe('a GGUF model', () => {
  it.each(['gguf-q8', 'gguf-aligned-64'])('%s, as its writer left it, is whole and holds weights alone', (id) => {
    const findings = inspect(whole(id));
    expect(findings.evidence).toEqual([]);
    expect(findings.content.found.weights).toEqual(['tiny.gguf']);
    expect(findings.content.found.optimizer).toEqual([]);
    expect(findings.payloadBytes).toBe(4 * 32 * 4 + (32 * 32 * 34) / 32 + 30 * 4 + 4 * 32 * 2);
    expect(gguf.recognise(whole(id), memorySource(whole(id), 'x'))).toBe(true);
  });

  it.each([
    ['cut in half', q8.length >> 1],
    ['one byte short', q8.length - 1],
    ['cut inside the header', 100],
    ['cut inside the first eight bytes', 6],
  ])('%s is partial', (_, length) => {
    expect(codes(q8.subarray(0, length))).toEqual(['GGUF_TRUNCATED']);
  });

  it('with bytes appended is whole, with a warning', () => {
    const findings = inspect(Buffer.concat([q8, Buffer.alloc(512, 7)]));
    expect(findings.evidence.map(({ code, effect }) => [code, effect])).toEqual([['GGUF_TRAILING', 'warning']]);
    expect(findings.payloadBytes).toBeGreaterThan(0);
  });

  it('without the padding of its last tensor is whole, because some writers end there, but not if it is cut inside the padding', () => {
    const short = withLastTensorShortened();
    expect(codes(short.subarray(0, short.length - 31))).toEqual([]);
    expect(codes(short.subarray(0, short.length - 30))).toEqual(['GGUF_TRUNCATED']);
  });

  it('whose counts are impossible is corrupt, and is not read further', () => {
    expect(codes(edited((bytes) => bytes.writeBigUInt64LE(2n ** 63n, 8)))).toEqual(['GGUF_HEADER_INVALID']);
    expect(codes(edited((bytes) => bytes.writeBigUInt64LE(2n ** 40n, 16)))).toEqual(['GGUF_HEADER_INVALID']);
    expect(codes(edited((bytes) => bytes.writeBigUInt64LE(2n ** 60n, 24)))).toEqual(['GGUF_HEADER_INVALID']);
  });

  it('whose tensors overlap is corrupt', () => {
    const name = Buffer.from('output.weight');
    const at = q8.indexOf(name) + name.length + 4 + 16 + 4;
    expect(codes(edited((bytes) => bytes.writeBigUInt64LE(0n, at)))).toEqual(['GGUF_LAYOUT_INVALID']);
  });

  it('of an unknown version or type cannot be judged', () => {
    expect(codes(edited((bytes) => bytes.writeUInt32LE(9, 4)))).toEqual(['GGUF_VERSION_UNKNOWN']);
    const name = Buffer.from('token_embd.weight');
    const at = q8.indexOf(name) + name.length + 4 + 16;
    expect(codes(edited((bytes) => bytes.writeUInt32LE(60, at)))).toEqual(['GGUF_TYPE_UNKNOWN']);
  });

  it('changed at any byte never stops the reader with an exception', () => {
    fc.assert(
      fc.property(fc.nat(q8.length - 1), fc.nat(255), fc.nat(q8.length), (at, value, length) => {
        inspect(edited((bytes) => bytes.writeUInt8(value, at)).subarray(0, Math.max(length, 8)));
      }),
      { numRuns: 500 },
    );
  });
});

/**
 * The fixture with its last tensor, 4 × 32 halves, described as a single byte: 31 bytes of padding
 * follow it.
 */
function withLastTensorShortened(): Buffer {
  const name = Buffer.from('output.weight');
  const at = q8.indexOf(name) + name.length + 4;
  const copy = edited((bytes) => {
    bytes.writeBigUInt64LE(1n, at);
    bytes.writeBigUInt64LE(1n, at + 8);
    bytes.writeUInt32LE(24, at + 16);
  });
  return copy.subarray(0, copy.length - 256 + 32);
}
