import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixtureBytes, inspectBytes } from '../../../test/support/inspect-bytes.ts';
import { writeZip } from '../../../test/support/zip-writer.ts';
import { npy } from './npy.ts';
import { npz } from './npz.ts';

function array(header: string, data: Buffer, version = 1): Buffer {
  const text = Buffer.from(`${header.padEnd(117)}\n`);
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  length.writeUInt16LE(text.length, 0);
  return Buffer.concat([Buffer.from('\x93NUMPY', 'latin1'), Buffer.from([version, 0]), length, text, data]);
}

const FLOATS = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

describe('npy', () => {
  it.each(['npy-weights', 'npy-fortran'])('reports the whole fixture %s as whole', (id) => {
    const { codes, findings } = inspectBytes(npy, fixtureBytes(id, 'kernel.npy'));
    expect(codes).toEqual([]);
    expect(findings.content.found.weights).toEqual(['file']);
    expect(findings.payloadBytes).toBeGreaterThan(0);
  });

  it('detects truncation at every length', () => {
    const whole = fixtureBytes('npy-weights', 'kernel.npy');
    for (let length = 6; length < whole.length; length += 7)
      expect(inspectBytes(npy, whole.subarray(0, length)).codes).toEqual(['NUMPY_TRUNCATED']);
  });

  it('warns of bytes after the array', () => {
    expect(inspectBytes(npy, Buffer.concat([fixtureBytes('npy-weights', 'kernel.npy'), Buffer.alloc(512)])).codes).toEqual([
      'NUMPY_TRAILING',
    ]);
  });

  it.each([
    ["{'descr': '<f4', 'fortran_order': True, 'shape': (), }", 4],
    ["{'descr': '|b1', 'fortran_order': False, 'shape': (7,), }", 7],
    ["{'descr': '<U5', 'fortran_order': False, 'shape': (2,), }", 40],
    ["{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,), }", 16],
    ["{'descr': '<c16', 'fortran_order': False, 'shape': (0, 9), }", 0],
    ["{'descr': [('a', '<i4'), ('b', '<f8', (2, 2)), ('', '|V4')], 'fortran_order': False, 'shape': (3L,), }", 120],
    ["{'descr': '|V2', 'fortran_order': False, 'shape': (8,), }", 16],
  ])('knows how many bytes %s takes', (header, bytes) => {
    expect(inspectBytes(npy, array(header, Buffer.alloc(bytes), 2)).codes).toEqual([]);
    expect(inspectBytes(npy, array(header, Buffer.alloc(bytes + 1))).codes).toEqual(['NUMPY_TRAILING']);
  });

  it.each([
    ['no dictionary', "['descr']"],
    ['no shape', "{'descr': '<f4', 'fortran_order': False}"],
    ['an unknown type', "{'descr': '<x4', 'fortran_order': False, 'shape': (2,)}"],
    ['a type of an impossible width', "{'descr': '<f3', 'fortran_order': False, 'shape': (2,)}"],
    ['a negative size', "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"],
    ['something after it', `${FLOATS} + 1`],
    ['a call', "{'descr': open('x'), 'fortran_order': False, 'shape': (2,)}"],
    ['absurd nesting', `{'descr': ${'['.repeat(40)}${']'.repeat(40)}, 'shape': (1,)}`],
  ])('reports a header with %s', (_, header) => {
    expect(inspectBytes(npy, array(header, Buffer.alloc(24))).codes).toEqual(['NUMPY_HEADER_INVALID']);
  });

  it('reports an array of impossible size as cut', () => {
    const huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (9007199254740991, 9007199254740991)}";
    expect(inspectBytes(npy, array(huge, Buffer.alloc(24))).codes).toEqual(['NUMPY_TRUNCATED']);
  });

  it('walks the pickle of an array of objects', () => {
    const objects = array("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", Buffer.from('cos\nsystem\n)R.'));
    expect(inspectBytes(npy, objects).codes).toEqual(['PICKLE_UNSAFE_GLOBAL', 'NUMPY_PICKLED']);
  });
});

describe('npz', () => {
  it.each(['npz-stored', 'npz-compressed'])('reports the whole fixture %s as whole, with everything a trainer needs', (id) => {
    const { codes, failed, findings } = inspectBytes(npz, fixtureBytes(id, 'step-100.npz'));
    expect(codes).toEqual([]);
    expect(failed).toEqual([]);
    expect(findings.payloadBytes).toBe(findings.checks.reduce((sum, check) => sum + check.payloadBytes, 0));
    expect(findings.content.steps.map(({ step }) => step)).toEqual([100]);
    expect(findings.content.found).toEqual({ weights: ['file: params'], optimizer: ['file: opt'], scheduler: [], rng: ['file: rng'] });
  });

  it('has a checksum that reveals a flipped bit and zeroed data', () => {
    const whole = fixtureBytes('npz-stored', 'step-100.npz');
    const flipped = Buffer.from(whole);
    flipped[1000] = (flipped[1000] ?? 0) ^ 1;
    expect(inspectBytes(npz, flipped).failed).toHaveLength(1);
    expect(
      inspectBytes(npz, Buffer.from(whole).fill(0, 300, 9000)).failed.length +
        inspectBytes(npz, Buffer.from(whole).fill(0, 300, 9000)).codes.length,
    ).toBeGreaterThan(0);
  });

  it('reports that it is cut, and still recognises it', () => {
    const whole = fixtureBytes('npz-compressed', 'step-100.npz');
    for (const length of [whole.length / 2, whole.length - 1, 200]) {
      expect(inspectBytes(npz, whole.subarray(0, length)).codes).toEqual(['ZIP_NO_END']);
    }
  });

  it.each([
    ['a member that is shorter than its array', array(FLOATS, Buffer.alloc(20)), 'NUMPY_MEMBER_SIZE'],
    ['a member that is longer than its array', array(FLOATS, Buffer.alloc(25)), 'NUMPY_TRAILING'],
    ['a member without a header', Buffer.from('no array'), 'NUMPY_HEADER_INVALID'],
    ['an empty member', Buffer.alloc(0), 'NUMPY_HEADER_INVALID'],
  ])('reports %s, stored and deflated', (_, data, code) => {
    for (const deflate of [false, true]) expect(inspectBytes(npz, writeZip([{ name: 'a.npy', data, deflate }])).codes).toEqual([code]);
  });

  it('reports an archive without arrays as empty', () => {
    expect(inspectBytes(npz, writeZip([])).codes).toEqual(['FILE_EMPTY']);
  });

  it('warns of members that are no arrays', () => {
    const bytes = writeZip([
      { name: 'a.npy', data: array(FLOATS, Buffer.alloc(24)) },
      { name: 'notes.txt', data: Buffer.from('hello') },
    ]);
    expect(inspectBytes(npz, bytes).codes).toEqual(['NPZ_FOREIGN_MEMBER']);
  });

  it('never throws, whatever byte is changed', () => {
    const wholes = ['npz-stored', 'npz-compressed'].map((id) => fixtureBytes(id, 'step-100.npz'));
    fc.assert(
      fc.property(
        fc.constantFrom(...wholes),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 5 }),
        (whole, changes) => {
          const bytes = Buffer.from(whole);
          for (const [at, value] of changes) bytes[at % bytes.length] = value;
          inspectBytes(npz, bytes);
        },
      ),
      { numRuns: 400 },
    );
  });
});
