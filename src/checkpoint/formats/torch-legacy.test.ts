import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixtureBytes, inspectBytes } from '../../../test/support/inspect-bytes.ts';
import { torchLegacy } from './torch-legacy.ts';

const TRAIN = fixtureBytes('torch-legacy-train', 'step-100.pth');
const inspect = (bytes: Buffer) => inspectBytes(torchLegacy, bytes);

/** The header of a tar member, as far as a reader looks at it. */
function tarMember(name: string, size: number): Buffer {
  const header = Buffer.alloc(512 + Math.ceil(size / 512) * 512);
  header.write(name, 0);
  header.write(size.toString(8).padStart(11, '0'), 124);
  header.write('ustar', 257);
  return header;
}

describe('torch legacy', () => {
  it.each(['torch-legacy-train', 'torch113-legacy-train'])('finds the whole fixture %s whole, with all a trainer needs', (id) => {
    const { codes, findings } = inspect(fixtureBytes(id, 'step-100.pth'));
    expect(codes).toEqual([]);
    expect(findings.payloadBytes).toBe(9684);
    expect(findings.checks).toEqual([]);
    expect(findings.content.steps.map(({ step }) => step)).toEqual([100]);
    expect(Object.values(findings.content.found).every((places) => places.length === 1)).toBe(true);
  });

  it('takes a plain state dict for weights', () => {
    const { codes, findings } = inspect(fixtureBytes('torch-legacy-weights', 'model.pth'));
    expect(codes).toEqual([]);
    expect(findings.content.found).toMatchObject({ optimizer: [], scheduler: [], rng: [] });
    expect(findings.content.found.weights.length).toBeGreaterThan(0);
  });

  it('finds every single way of cutting it', () => {
    for (let length = 15; length < TRAIN.length; length += 13) {
      const { findings } = inspect(TRAIN.subarray(0, length));
      expect(findings.evidence.map(({ effect }) => effect)).toContain('partial');
    }
    expect(inspect(TRAIN.subarray(0, -1)).codes).toEqual(['TORCH_LEGACY_TRUNCATED']);
  });

  it('warns of bytes after the last storage', () => {
    expect(inspect(Buffer.concat([TRAIN, Buffer.alloc(512)])).codes).toEqual(['TORCH_LEGACY_TRAILING']);
  });

  it('finds a storage that begins with another count than the pickle says', () => {
    const bytes = Buffer.from(TRAIN);
    // The last storage is the 5056 bytes of the random state, with its count before it.
    const count = Buffer.alloc(8);
    count.writeBigUInt64LE(5056n);
    bytes[bytes.indexOf(count)] = 0xc1;
    expect(inspect(bytes).codes).toEqual(['TORCH_STORAGE_SIZE']);
  });

  it('finds a wrong protocol version', () => {
    const bytes = Buffer.from(TRAIN);
    bytes.writeUInt16LE(1002, 18);
    expect(inspect(bytes).codes).toEqual(['TORCH_LEGACY_INVALID']);
  });

  it('names the tar format of 2016 and says that it does not read it', () => {
    const tar = Buffer.concat([tarMember('./sys_info', 10), tarMember('./pickle', 700), tarMember('./storages', 0)]);
    expect(inspect(tar).codes).toEqual(['TORCH_TAR']);
    expect(inspect(Buffer.concat([tarMember('other', 0), Buffer.alloc(1024)])).recognised).toBe(false);
  });

  it('never throws, whatever byte is changed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(TRAIN.length - 1), fc.nat(255)), { minLength: 1, maxLength: 5 }), (changes) => {
        const bytes = Buffer.from(TRAIN);
        for (const [at, value] of changes) bytes[at] = value;
        inspect(bytes);
      }),
      { numRuns: 500 },
    );
  });
});
