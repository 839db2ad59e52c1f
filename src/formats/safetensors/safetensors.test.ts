import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Findings } from '../reading/findings.ts';
import { parseHeader } from './header.ts';
import { memorySource } from '../../bytes/source/byte-source.ts';
import { inspectSafetensors, safetensors } from './safetensors.ts';

const FIXTURES = new URL('../../../test/fixtures/whole/', import.meta.url);
const whole = readFileSync(new URL('safetensors-single/data/model.safetensors', FIXTURES));
const mixed = readFileSync(new URL('safetensors-mixed/data/mixed.safetensors', FIXTURES));

function inspect(bytes: Buffer): Findings {
  const findings = new Findings();
  inspectSafetensors(memorySource(bytes, 'model.safetensors'), findings);
  return findings;
}

function codes(bytes: Buffer): readonly string[] {
  return inspect(bytes).evidence.map(({ code }) => code);
}

/** Builds a file with this header and this many bytes of data. */
function file(header: unknown, dataBytes: number, length?: bigint): Buffer {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(length ?? BigInt(json.length));
  return Buffer.concat([prefix, json, Buffer.alloc(dataBytes, 1)]);
}

function tensor(dtype: string, shape: readonly number[], begin: number, end: number): object {
  return { dtype, shape, data_offsets: [begin, end] };
}

describe('the safetensors reader', () => {
  it.each([
    ['a model', whole, 1624],
    ['every kind of element, an empty tensor and a scalar', mixed, 466],
  ])('accepts %s', (_, bytes, payload) => {
    const findings = inspect(bytes);
    expect(findings.evidence).toEqual([]);
    expect(findings.payloadBytes).toBe(payload);
    expect(findings.content.found.weights).toEqual(['model.safetensors']);
    expect(findings.content.found.optimizer).toEqual([]);
  });

  it('recognises a file by its first bytes, and refuses JSON text', () => {
    expect(safetensors.recognise(whole, memorySource(whole, 'x'))).toBe(true);
    const text = Buffer.from('[    [  {"a": 1}]]');
    expect(safetensors.recognise(text, memorySource(text, 'x'))).toBe(false);
  });

  it.each([
    ['cut in half', whole.subarray(0, whole.length / 2), 'SAFETENSORS_TRUNCATED'],
    ['one byte short', whole.subarray(0, -1), 'SAFETENSORS_TRUNCATED'],
    ['cut inside its header', whole.subarray(0, 100), 'SAFETENSORS_TRUNCATED'],
    ['shorter than its length field', whole.subarray(0, 4), 'SAFETENSORS_TRUNCATED'],
    ['512 bytes too long', Buffer.concat([whole, Buffer.alloc(512)]), 'SAFETENSORS_TRAILING'],
    ['with a header length near 2^64', file({}, 0, 0xffff_ffff_ffff_fff8n), 'SAFETENSORS_HEADER_LENGTH'],
    ['with a header that ends early', file('{"a":{"dtype":"F32"', 0), 'SAFETENSORS_HEADER_INVALID'],
    ['with a header that is not UTF-8', Buffer.concat([file('', 0, 2n), Buffer.from([0x7b, 0xff])]), 'SAFETENSORS_HEADER_INVALID'],
    ['with a tensor that lacks its offsets', file({ a: { dtype: 'F32', shape: [1] } }, 4), 'SAFETENSORS_HEADER_INVALID'],
    ['with a tensor longer than its shape', file({ a: tensor('F32', [1], 0, 8) }, 8), 'SAFETENSORS_TENSOR_SIZE'],
    ['with half a byte of 4-bit elements', file({ a: tensor('F4', [3], 0, 2) }, 2), 'SAFETENSORS_TENSOR_SIZE'],
    ['with a hole', file({ a: tensor('U8', [2], 0, 2), b: tensor('U8', [2], 4, 6) }, 6), 'SAFETENSORS_HOLE'],
    ['with an overlap', file({ a: tensor('U8', [4], 0, 4), b: tensor('U8', [4], 2, 6) }, 6), 'SAFETENSORS_OVERLAP'],
  ])('reports a file %s', (_, bytes, code) => {
    expect(codes(bytes)).toEqual([code]);
  });

  it('reports a tensor name that occurs twice', () => {
    const entry = JSON.stringify(tensor('U8', [2], 0, 2));
    expect(codes(file(`{"a":${entry},"\\u0061":${entry}}`, 2))).toContain('SAFETENSORS_NAME_REPEATED');
  });

  it('counts 4-bit and 6-bit elements as packed without gaps', () => {
    const header = { a: tensor('F4', [4], 0, 2), b: tensor('F6_E2M3', [4], 2, 5), c: tensor('F8_E8M0', [3], 5, 8) };
    expect(codes(file(header, 8))).toEqual([]);
  });

  it('only warns about an element type it does not know', () => {
    expect(inspect(file({ a: tensor('F2', [4], 0, 1) }, 1)).evidence).toMatchObject([
      { code: 'SAFETENSORS_DTYPE_UNKNOWN', effect: 'warning' },
    ]);
  });

  it('reads the step from the metadata and the optimizer from the names', () => {
    const findings = inspect(
      file({ __metadata__: { format: 'pt', step: '1200' }, 'state.0.exp_avg': tensor('U8', [1], 0, 1), w: tensor('U8', [1], 1, 2) }, 2),
    );
    expect(findings.content.steps).toMatchObject([{ step: 1200 }]);
    expect(findings.content.found).toMatchObject({ weights: ['model.safetensors'], optimizer: ['model.safetensors'] });
  });

  it('reads every header that JSON.stringify writes, and never throws on a damaged one', () => {
    const json = fc.dictionary(
      fc.string(),
      fc.record({
        dtype: fc.string(),
        shape: fc.array(fc.nat(), { maxLength: 5 }),
        data_offsets: fc.tuple(fc.nat(), fc.nat()),
        x: fc.jsonValue(),
      }),
    );
    fc.assert(
      fc.property(json, fc.nat(), fc.nat(255), (header, at, byte) => {
        const bytes = Buffer.from(JSON.stringify(header));
        const parsed = parseHeader(bytes);
        if (!('__metadata__' in header)) expect(parsed.ok && parsed.header.tensors.length).toBe(Object.keys(header).length);
        bytes[at % bytes.length] = byte;
        expect(() => parseHeader(bytes)).not.toThrow();
      }),
    );
  });

  it('always terminates, whichever byte changes', () => {
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
        const bytes = Buffer.from(whole);
        bytes[at] = byte;
        inspect(bytes);
      }),
    );
  });
});
