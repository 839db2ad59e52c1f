import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixtureBytes, inspectBytes } from '../../../test/support/inspect-bytes.ts';
import { torchLegacy } from './torch-legacy.ts';

const TRAIN = fixtureBytes('torch-legacy-train', 'step-100.pth');
const inspect = (bytes: Buffer) => inspectBytes(torchLegacy, bytes);

/** The fields of a tar member's header that the reader uses. */
function tarMember(name: string, size: number): Buffer {
  const header = Buffer.alloc(512 + Math.ceil(size / 512) * 512);
  header.write(name, 0);
  header.write(size.toString(8).padStart(11, '0'), 124);
  header.write('ustar', 257);
  return header;
}

describe('the reader of legacy torch files', () => {
  it.each(['torch-legacy-train', 'torch113-legacy-train'])(
    'reports the intact fixture %s as whole, with everything a trainer needs',
    (id) => {
      const { codes, findings } = inspect(fixtureBytes(id, 'step-100.pth'));
      expect(codes).toEqual([]);
      expect(findings.payloadBytes).toBe(9684);
      expect(findings.checks).toEqual([]);
      expect(findings.content.steps.map(({ step }) => step)).toEqual([100]);
      expect(Object.values(findings.content.found).every((places) => places.length === 1)).toBe(true);
    },
  );

  it('reports a plain state dict as weights', () => {
    const { codes, findings } = inspect(fixtureBytes('torch-legacy-weights', 'model.pth'));
    expect(codes).toEqual([]);
    expect(findings.content.found).toMatchObject({ optimizer: [], scheduler: [], rng: [] });
    expect(findings.content.found.weights.length).toBeGreaterThan(0);
  });

  it('detects truncation at every length', () => {
    for (let length = 15; length < TRAIN.length; length += 13) {
      const { findings } = inspect(TRAIN.subarray(0, length));
      expect(findings.evidence.map(({ effect }) => effect)).toContain('partial');
    }
    expect(inspect(TRAIN.subarray(0, -1)).codes).toEqual(['TORCH_LEGACY_TRUNCATED']);
  });

  it('warns about bytes after the last storage', () => {
    expect(inspect(Buffer.concat([TRAIN, Buffer.alloc(512)])).codes).toEqual(['TORCH_LEGACY_TRAILING']);
  });

  it('reports a storage whose element count differs from the pickle', () => {
    const bytes = Buffer.from(TRAIN);
    // The last storage is the 5056 bytes of the random state, with its count in front.
    const count = Buffer.alloc(8);
    count.writeBigUInt64LE(5056n);
    bytes[bytes.indexOf(count)] = 0xc1;
    expect(inspect(bytes).codes).toEqual(['TORCH_STORAGE_SIZE']);
  });

  it('reports a wrong protocol version', () => {
    const bytes = Buffer.from(TRAIN);
    bytes.writeUInt16LE(1002, 18);
    expect(inspect(bytes).codes).toEqual(['TORCH_LEGACY_INVALID']);
  });

  it('names the tar format of 2016 and reports that it cannot read it', () => {
    const tar = Buffer.concat([tarMember('./sys_info', 10), tarMember('./pickle', 700), tarMember('./storages', 0)]);
    expect(inspect(tar).codes).toEqual(['TORCH_TAR']);
    expect(inspect(Buffer.concat([tarMember('other', 0), Buffer.alloc(1024)])).recognised).toBe(false);
  });

  it('never throws, whichever byte of the file changes', () => {
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
