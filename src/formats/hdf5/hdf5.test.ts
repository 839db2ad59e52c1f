import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fletcher32 } from '../../core/checksums.ts';
import { Findings } from '../reading/findings.ts';
import { lookup3 } from '../encodings/hdf5/lookup3.ts';
import { memorySource } from '../../bytes/source/byte-source.ts';
import { hdf5 } from './hdf5.ts';
import { probe } from '../recognise.ts';

const FIXTURES = join(import.meta.dirname, '..', '..', '..', 'test', 'fixtures');

function whole(id: string): { readonly bytes: Buffer; readonly step: number | null; readonly content: Record<string, boolean> } {
  const folder = join(FIXTURES, 'whole', id);
  const { path, step, content } = JSON.parse(readFileSync(join(folder, 'fixture.json'), 'utf8'));
  return { bytes: readFileSync(join(folder, path)), step, content };
}

const kinds = (name: string): Buffer => readFileSync(join(FIXTURES, 'hdf5-kinds', name));
const OLD = whole('hdf5-contiguous').bytes;
const CHECKED = whole('hdf5-fletcher32').bytes;
const NEW = whole('hdf5-latest-fletcher32').bytes;
const OLD_FLAGS = 20;
const NEW_FLAGS = 11;

function inspect(bytes: Buffer): Findings {
  const findings = new Findings();
  hdf5.inspect(memorySource(bytes, 'model.h5'), findings, probe);
  return findings;
}

const codes = (bytes: Buffer): string[] => inspect(bytes).evidence.map(({ code }) => code);
const covered = ({ checks }: Findings): number => checks.reduce((sum, { payloadBytes }) => sum + payloadBytes, 0);

/** Compares the listed checksums with the bytes, as `--deep` does. */
function mismatches(bytes: Buffer): number {
  return inspect(bytes).checks.filter(({ offset, length, expected }) => {
    const at = typeof expected === 'string' ? 0 : expected.at;
    return fletcher32(bytes.subarray(offset, offset + length)) !== bytes.readUInt32LE(at);
  }).length;
}

function edited(bytes: Buffer, edit: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  edit(copy);
  return copy;
}

describe('a whole HDF5 file', () => {
  it.each([
    'hdf5-contiguous',
    'hdf5-fletcher32',
    'hdf5-latest-fletcher32',
    'hdf5-v114-fletcher32',
    'hdf5-partly-fletcher32',
    'keras-legacy-h5',
    'keras-weights-h5',
    'keras-weights-only-h5',
  ])('%s is clean and holds the content that its maker wrote', (id) => {
    const { bytes, step, content } = whole(id);
    const findings = inspect(bytes);
    expect(findings.evidence).toEqual([]);
    for (const need of ['weights', 'optimizer', 'rng'] as const) expect(findings.content.found[need].length > 0, need).toBe(content[need]);
    expect(findings.content.steps.map((seen) => seen.step)).toEqual(step === null ? [] : [step]);
    expect(findings.payloadBytes).toBeGreaterThan(3000);
    expect(hdf5.recognise(bytes.subarray(0, 4096), memorySource(bytes, 'x'))).toBe(true);
  });

  it.each(['hdf5-fletcher32', 'hdf5-latest-fletcher32', 'hdf5-v114-fletcher32'])(
    '%s lists checksums that cover all of its data and match',
    (id) => {
      const findings = inspect(whole(id).bytes);
      expect(covered(findings)).toBe(findings.payloadBytes);
      expect(findings.checks.length).toBeGreaterThan(100);
      expect(mismatches(whole(id).bytes)).toBe(0);
    },
  );

  it('with checksums on its parameters alone reports how much they cover', () => {
    const findings = inspect(whole('hdf5-partly-fletcher32').bytes);
    expect(covered(findings)).toBeGreaterThan(0);
    expect(covered(findings)).toBeLessThan(findings.payloadBytes);
  });

  it.each(['new-kinds.h5', 'old-kinds.h5'])('%s is read through every kind of group and index', (name) => {
    const findings = inspect(kinds(name));
    expect(findings.evidence).toEqual([]);
    expect(findings.payloadBytes).toBe(1100 + 400 + 400 + 16 * 9 * 4 + 4 + 12);
    expect(covered(findings)).toBe(800);
    expect(mismatches(kinds(name))).toBe(0);
    expect(findings.content.steps.map(({ step }) => step)).toEqual([55, 55]);
  });

  it.each(['small-addresses.h5', 'user-block.h5'])('%s is read with its own widths and base', (name) => {
    const findings = inspect(kinds(name));
    expect(findings.evidence).toEqual([]);
    expect(findings.payloadBytes).toBe(10 * 16 + 15 * 28);
    expect(mismatches(kinds(name))).toBe(0);
    expect(hdf5.recognise(kinds(name), memorySource(kinds(name), 'x'))).toBe(true);
  });

  it('inside another file gives offsets in that file', () => {
    const findings = new Findings();
    hdf5.inspect(memorySource(CHECKED, 'model.keras', 1000), findings, probe);
    const plain = inspect(CHECKED).checks[0];
    expect(findings.checks[0]?.offset).toBe((plain?.offset ?? 0) + 1000);
  });
});

describe('an HDF5 file that is cut or was not closed', () => {
  it.each([
    ['half', (bytes: Buffer) => bytes.length >> 1],
    ['all but 4 KiB', (bytes: Buffer) => bytes.length - 4096],
    ['all but a byte', (bytes: Buffer) => bytes.length - 1],
    ['the first 20 bytes', () => 20],
  ])('is partial when %s is left', (_, length) => {
    for (const bytes of [OLD, CHECKED, NEW]) expect(codes(bytes.subarray(0, length(bytes)))).toEqual(['HDF5_TRUNCATED']);
  });

  it('is partial when its writer was killed after a flush, although the library opens it', () => {
    const killed = kinds('killed.h5');
    const end = Number(killed.readBigUInt64LE(40));
    expect(killed.length - end).toBe(512);
    expect(codes(killed)).toEqual(['HDF5_NOT_CLOSED']);
  });

  it('is partial when the flag of an open file is set, in superblocks of every version', () => {
    expect(codes(edited(OLD, (copy) => copy.writeUInt8(1, OLD_FLAGS)))).toEqual(['HDF5_NOT_CLOSED']);
    const opened = edited(NEW, (copy) => {
      copy.writeUInt8(5, NEW_FLAGS);
      copy.writeUInt32LE(lookup3(copy.subarray(0, 44)), 44);
    });
    expect(codes(opened)).toEqual(['HDF5_NOT_CLOSED']);
  });

  it('is whole, with a warning, when bytes were appended after it was closed', () => {
    for (const bytes of [OLD, CHECKED, NEW]) {
      const findings = inspect(Buffer.concat([bytes, Buffer.alloc(512, 0x5a)]));
      expect(findings.evidence.map(({ code, effect }) => [code, effect])).toEqual([['HDF5_TRAILING', 'warning']]);
      expect(findings.payloadBytes).toBeGreaterThan(0);
      expect(findings.content.found.optimizer).not.toEqual([]);
    }
  });

  it('counts as unclosed when a long tail follows and its version does not prove that it was closed', () => {
    const tail = Buffer.alloc(100_000, 1);
    expect(codes(Buffer.concat([OLD, tail]))).toEqual(['HDF5_NOT_CLOSED']);
    expect(codes(Buffer.concat([NEW, tail]))).toEqual(['HDF5_TRAILING']);
  });

  it('is partial when a dataset was created and never filled', () => {
    expect(codes(kinds('unwritten.h5'))).toEqual(['HDF5_NOT_WRITTEN']);
  });
});

describe('an HDF5 file with damaged bytes', () => {
  it('is corrupt by its chunk checksums when data changed', () => {
    for (const bytes of [CHECKED, NEW]) {
      const check = inspect(bytes).checks[7];
      const flipped = edited(bytes, (copy) => copy.writeUInt8((copy[check?.offset ?? 0] ?? 0) ^ 4, check?.offset ?? 0));
      expect(codes(flipped)).toEqual([]);
      expect(mismatches(flipped)).toBe(1);
    }
  });

  it('is corrupt when metadata does not match its checksum', () => {
    expect(codes(edited(NEW, (copy) => copy.writeUInt8(9, NEW_FLAGS)))).toEqual(['HDF5_CHECKSUM_MISMATCH']);
    const header = NEW.indexOf('OHDR', 100);
    expect(codes(edited(NEW, (copy) => copy.writeUInt8(copy.readUInt8(header + 8) ^ 1, header + 8)))).toContain('HDF5_CHECKSUM_MISMATCH');
  });

  it.each(['TREE', 'SNOD', 'HEAP'])('is corrupt when a %s is zeroed', (signature) => {
    const at = OLD.indexOf(signature);
    expect(codes(edited(OLD, (copy) => copy.fill(0, at, at + 64)))[0]).toBe('HDF5_STRUCTURE_INVALID');
  });

  it('is corrupt when data has an address outside the file, over other data, or over the superblock', () => {
    const [first, second] = contiguousLayouts(OLD);
    const moved = (address: bigint): string[] => codes(edited(OLD, (copy) => copy.writeBigUInt64LE(address, (first ?? 0) + 2)));
    expect(moved(BigInt(OLD.length - 10))).toEqual(['HDF5_OUT_OF_BOUNDS']);
    expect(moved(2n ** 63n)).toEqual(['HDF5_OUT_OF_BOUNDS']);
    expect(moved(OLD.readBigUInt64LE((second ?? 0) + 2))).toEqual(['HDF5_OVERLAP']);
    expect(moved(0n)).toEqual(['HDF5_OVERLAP']);
    expect(moved(2n ** 64n - 1n)).toEqual(['HDF5_NOT_WRITTEN']);
  });

  it('is corrupt when the space for a dataset does not match its shape', () => {
    const [first] = contiguousLayouts(OLD);
    expect(codes(edited(OLD, (copy) => copy.writeBigUInt64LE(3n, (first ?? 0) + 10)))).toEqual(['HDF5_SIZE_MISMATCH']);
  });

  it('changed in any way never stops the reader with an exception', () => {
    const change = fc.record({ at: fc.nat(), bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }) });
    const file = fc.constantFrom(OLD, CHECKED, NEW, kinds('new-kinds.h5'), kinds('old-kinds.h5'), kinds('small-addresses.h5'));
    fc.assert(
      fc.property(file, fc.array(change, { minLength: 1, maxLength: 3 }), (bytes, changes) => {
        inspect(edited(bytes, (copy) => changes.forEach(({ at, bytes: patch }) => copy.set(patch, at % (copy.length - 8)))));
      }),
      { numRuns: 300 },
    );
  });
});

/** Where the layouts (version 3, contiguous) of datasets with at least 64 bytes lie. */
function contiguousLayouts(bytes: Buffer): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf('0301', 0, 'hex'); at >= 0 && at + 18 <= bytes.length; at = bytes.indexOf('0301', at + 1, 'hex')) {
    const address = Number(bytes.readBigUInt64LE(at + 2));
    const size = Number(bytes.readBigUInt64LE(at + 10));
    if (size >= 64 && address > 0 && address + size <= bytes.length) found.push(at);
  }
  return found;
}
