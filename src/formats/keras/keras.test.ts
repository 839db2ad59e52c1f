import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixtureBytes, inspectBytes } from '../../../test/support/inspect-bytes.ts';
import { writeZip } from '../../../test/support/zip-writer.ts';
import { keras } from './keras.ts';

const TRAIN = fixtureBytes('keras-train', 'step-100.keras');
const WEIGHTS = fixtureBytes('keras-weights-h5', 'step-100.weights.h5');
const METADATA = { name: 'metadata.json', data: Buffer.from('{"keras_version": "3.0"}') };
const CONFIG = { name: 'config.json', data: Buffer.from('{"module": "keras"}') };
const H5 = { name: 'model.weights.h5', data: WEIGHTS };

describe('.keras', () => {
  it('reports the whole model as whole, with optimizer and step from the weights inside', () => {
    const { codes, failed, findings } = inspectBytes(keras, TRAIN);
    expect(codes).toEqual([]);
    expect(failed).toEqual([]);
    expect(findings.checks.reduce((sum, check) => sum + check.payloadBytes, 0)).toBe(findings.payloadBytes);
    expect(findings.content.steps.map(({ step }) => step)).toEqual([100]);
    expect(findings.content.found.optimizer).toHaveLength(1);
  });

  it('finds no optimizer in a model that was never compiled', () => {
    const { codes, findings } = inspectBytes(keras, fixtureBytes('keras-uncompiled', 'model.keras'));
    expect(codes).toEqual([]);
    expect(findings.content.found).toMatchObject({ optimizer: [], weights: ['file'] });
  });

  it('reports that it is cut, and still recognises it', () => {
    for (const length of [TRAIN.length / 2, TRAIN.length - 4096, TRAIN.length - 1]) {
      expect(inspectBytes(keras, TRAIN.subarray(0, length)).codes).toEqual(['ZIP_NO_END']);
    }
  });

  it('has a checksum over the weights', () => {
    const { findings } = inspectBytes(keras, TRAIN);
    const check = findings.checks.find(({ payloadBytes }) => payloadBytes > 0);
    const bytes = Buffer.from(TRAIN);
    const last = (check?.offset ?? 0) + (check?.length ?? 0) - 1;
    bytes[last] = (bytes[last] ?? 0) ^ 1;
    expect(inspectBytes(keras, bytes).failed).toEqual(['entry model.weights.h5']);
  });

  it.each([
    ['the weights are missing', [METADATA, CONFIG], 'KERAS_MEMBER_MISSING'],
    ['the configuration is missing', [METADATA, H5, { ...CONFIG, name: 'x/config.json' }], 'KERAS_MEMBER_MISSING'],
    ['the metadata is missing', [CONFIG, H5], 'KERAS_METADATA_MISSING'],
    ['the configuration does not parse', [METADATA, { ...CONFIG, data: Buffer.from('{') }, H5], 'DOCUMENT_INVALID'],
    ['the configuration is no object', [METADATA, { ...CONFIG, data: Buffer.from('[]') }, H5], 'DOCUMENT_INVALID'],
    ['the model carries code', [METADATA, { ...CONFIG, data: Buffer.from('{"class_name": "__lambda__"}') }, H5], 'KERAS_LAMBDA'],
    ['the weights are of no known format', [METADATA, CONFIG, { ...H5, data: Buffer.from('nothing') }], 'FILE_UNRECOGNISED'],
  ])('reports that %s', (_, members, code) => {
    expect(inspectBytes(keras, writeZip(members)).codes).toContain(code);
  });

  it('reads weights that are deflated', () => {
    const { codes, findings, failed } = inspectBytes(keras, writeZip([METADATA, CONFIG, { ...H5, deflate: true }]));
    expect(codes).toEqual([]);
    expect(failed).toEqual([]);
    expect(findings.content.found.weights).toHaveLength(1);
  });

  it('never throws, whatever byte is changed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(TRAIN.length - 1), fc.nat(255)), { minLength: 1, maxLength: 5 }), (changes) => {
        const bytes = Buffer.from(TRAIN);
        for (const [at, value] of changes) bytes[at] = value;
        expect(inspectBytes(keras, bytes).codes).not.toContain('READER_FAILED');
      }),
      { numRuns: 300 },
    );
  });
});
