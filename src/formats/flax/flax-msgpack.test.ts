import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Findings } from '../reading/findings.ts';
import { memorySource } from '../../bytes/source/byte-source.ts';
import { flaxMsgpack } from './flax-msgpack.ts';
import { probe } from '../recognise.ts';

const fixture = (path: string): Buffer => readFileSync(new URL(`../../../test/fixtures/whole/${path}`, import.meta.url));
const train = fixture('flax-msgpack-train/data/checkpoint_100');
const params = fixture('flax-msgpack-params/data/flax_model.msgpack');

/**
 * What Flax writes for `{params: {w: 5 × 2 floats}, step: int32 7}` when a value may hold 16 bytes
 * of an array only.
 */
const chunked = Buffer.from(
  '82a6706172616d7381a17783b95f5f6d73677061636b5f6368756e6b65645f61727261795f5fc3a5736861706582a13005a13102a66368756e6b7383a130c71d01939104a7666c6f61743332c410000000000000803f0000004000004040a131c71d01939104a7666c6f61743332c410000080400000a0400000c0400000e040a132c71501939102a7666c6f61743332c4080000004100001041a473746570c70e039390a5696e743332c40407000000',
  'hex',
);

function inspect(bytes: Buffer): Findings {
  const findings = new Findings();
  flaxMsgpack.inspect(memorySource(bytes, 'checkpoint_100'), findings, probe);
  return findings;
}

const codes = (bytes: Buffer): string[] => inspect(bytes).evidence.map(({ code }) => code);
const recognises = (bytes: Buffer): boolean => flaxMsgpack.recognise(bytes.subarray(0, 4096), memorySource(bytes, 'x'));

function edited(bytes: Buffer, edit: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  edit(copy);
  return copy;
}

describe('a Flax msgpack file', () => {
  it('of a whole train state holds weights, optimizer and step', () => {
    const { evidence, content, payloadBytes } = inspect(train);
    expect(evidence).toEqual([]);
    expect(content.found.weights).toEqual(['checkpoint_100']);
    expect(content.found.optimizer).toEqual(['checkpoint_100']);
    expect(content.steps.map(({ step }) => step)).toEqual([100]);
    expect(payloadBytes).toBeGreaterThan(3 * (16 * 24 + 24) * 4);
  });

  it('of parameters alone holds weights only', () => {
    const { evidence, content } = inspect(params);
    expect(evidence).toEqual([]);
    expect(content.found.weights).toEqual(['checkpoint_100']);
    expect(content.found.optimizer).toEqual([]);
    expect(content.steps).toEqual([]);
  });

  it('is recognised by an array that Flax packed, even if that array is cut', () => {
    expect(recognises(train)).toBe(true);
    expect(recognises(params)).toBe(true);
    expect(recognises(params.subarray(0, 120))).toBe(true);
  });

  it.each([
    ['a map of numbers', Buffer.from('82a16101a16202', 'hex')],
    ['a map with numbers as keys', Buffer.from('8101a161', 'hex')],
    ['an empty map', Buffer.from('80', 'hex')],
    ['zeros', Buffer.alloc(64)],
    ['text', Buffer.from('{"params": 1}')],
  ])('is not seen in %s', (_, bytes) => {
    expect(recognises(bytes)).toBe(false);
  });

  it('whose large arrays are in pieces is whole if the pieces fill the shape', () => {
    const { evidence, content, payloadBytes } = inspect(chunked);
    expect(evidence).toEqual([]);
    expect(payloadBytes).toBe(40 + 4);
    expect(content.steps.map(({ step }) => step)).toEqual([7]);
    const shape = chunked.indexOf('shape') + 'shape'.length;
    expect(chunked.subarray(shape, shape + 4).toString('hex')).toBe('82a13005');
    expect(codes(edited(chunked, (copy) => copy.writeUInt8(6, shape + 3)))).toEqual(['MSGPACK_ARRAY_SIZE']);
  });

  it.each([
    ['half of it', train.length >> 1],
    ['all but the last byte', train.length - 1],
    ['all but 4 KiB', train.length - 4096],
  ])('is partial when only %s is left', (_, length) => {
    expect(codes(train.subarray(0, length))).toEqual(['MSGPACK_TRUNCATED']);
  });

  it('with bytes behind its value is corrupt, because Flax refuses it', () => {
    expect(codes(Buffer.concat([train, Buffer.alloc(512)]))).toEqual(['MSGPACK_TRAILING']);
  });

  it('whose shape contradicts its bytes is corrupt', () => {
    const triple = params.indexOf(Buffer.from('93', 'hex'));
    expect(codes(edited(params, (copy) => copy.writeUInt8((copy[triple + 2] ?? 0) + 1, triple + 2)))).toEqual(['MSGPACK_ARRAY_SIZE']);
  });

  it('nested without end is refused', () => {
    const nested = Buffer.concat([...Array.from({ length: 10_000 }, () => Buffer.from('81a161', 'hex')), Buffer.from('c0', 'hex')]);
    expect(codes(nested)).toEqual(['LIMIT_EXCEEDED']);
  });

  it('changed at any byte never stops the reader with an exception', () => {
    fc.assert(
      fc.property(fc.nat(train.length - 1), fc.nat(255), fc.nat(train.length), (at, value, length) => {
        const bytes = edited(train, (copy) => copy.writeUInt8(value, at)).subarray(0, length);
        inspect(bytes);
        recognises(bytes);
      }),
      { numRuns: 500 },
    );
  });
});
