import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixtureBytes, inspectBytes } from '../../../test/support/inspect-bytes.ts';
import { writeZip, type ZipMember } from '../../../test/support/zip-writer.ts';
import { torchZip } from './torch-zip.ts';

const TRAIN = fixtureBytes('torch-zip-train', 'step-100.pt');
const inspect = (bytes: Buffer) => inspectBytes(torchZip, bytes);

/** A pickle of one tensor over a storage. */
function tensorPickle(storage: { type?: string; key?: string; count?: number } = {}): Buffer {
  const { type = 'FloatStorage', key = '0', count = 4 } = storage;
  const id = `(S'storage'\nctorch\n${type}\nS'${key}'\nS'cpu'\nI${count}\ntQ`;
  return Buffer.from(`}(S'weight'\nctorch._utils\n_rebuild_tensor_v2\n(${id}I0\n(I4\nt(I1\ntI00\nNtRu.`);
}

function torchFile(
  pickle: Buffer,
  storages: readonly Partial<ZipMember>[] = [{ data: Buffer.alloc(16, 1) }],
  others: readonly ZipMember[] = [],
): Buffer {
  return writeZip(
    [
      { name: 'archive/data.pkl', data: pickle, descriptor: true },
      ...others,
      ...storages.map((storage, index) => ({
        name: `archive/data/${index}`,
        data: Buffer.alloc(0),
        descriptor: true,
        padding: 20,
        ...storage,
      })),
      { name: 'archive/version', data: Buffer.from('3\n'), descriptor: true },
    ],
    { zip64: true },
  );
}

describe('the reader of torch zip files', () => {
  it.each([
    ['torch-zip-train', 9684],
    ['torch113-zip-train', 9684],
  ])('reports the intact fixture %s as whole, with everything a trainer needs', (id, payload) => {
    const { codes, findings, failed } = inspect(fixtureBytes(id, 'step-100.pt'));
    expect(codes).toEqual([]);
    expect(failed).toEqual([]);
    expect(findings.payloadBytes).toBe(payload);
    expect(findings.checks.reduce((sum, check) => sum + check.payloadBytes, 0)).toBe(payload);
    expect(findings.content.steps).toEqual([{ step: 100, file: 'file', where: 'file: step' }]);
    expect(findings.content.found).toEqual({
      weights: ['file: model'],
      optimizer: ['file: optimizer'],
      scheduler: ['file: scheduler'],
      rng: ['file: rng'],
    });
  });

  it('reports a plain state dict as weights', () => {
    const { codes, findings } = inspect(fixtureBytes('torch-zip-weights', 'model.pt'));
    expect(codes).toEqual([]);
    expect(findings.content.found.weights.length).toBeGreaterThan(0);
    expect(findings.content.found.optimizer).toEqual([]);
  });

  it('accepts a file whose writer stored no checksums, and lists none', () => {
    const { codes, findings } = inspect(fixtureBytes('torch-zip-nocrc', 'step-100.pt'));
    expect(codes).toEqual(['TORCH_NO_CHECKSUMS']);
    expect(findings.checks).toEqual([]);
    expect(findings.isBroken).toBe(false);
  });

  it('detects truncation at every length', () => {
    for (const length of [TRAIN.length / 2, TRAIN.length - 4096, TRAIN.length - 1, 4096, 100]) {
      const { recognised, findings } = inspect(TRAIN.subarray(0, length));
      expect(recognised).toBe(true);
      expect(findings.evidence[0]?.effect).toBe('partial');
    }
  });

  it('warns about bytes after the end and keeps everything else', () => {
    const { codes, failed } = inspect(Buffer.concat([TRAIN, Buffer.alloc(512, 9)]));
    expect(codes).toEqual(['ZIP_TRAILING']);
    expect(failed).toEqual([]);
  });

  it('lists checksums that cover every tensor byte', () => {
    const { findings } = inspect(TRAIN);
    for (const check of findings.checks.filter(({ payloadBytes }) => payloadBytes > 0)) {
      const bytes = Buffer.from(TRAIN);
      bytes[check.offset + check.length - 1] = (bytes[check.offset + check.length - 1] ?? 0) ^ 4;
      const changed = inspect(bytes);
      expect(changed.codes).toEqual([]);
      expect(changed.failed).toEqual([check.what]);
    }
  });

  it.each([
    ['a storage is missing', torchFile(tensorPickle({ key: '7' })), 'TORCH_RECORD_MISSING'],
    ['a storage is too short', torchFile(tensorPickle({ count: 5 })), 'TORCH_STORAGE_SIZE'],
    ['a storage is too long', torchFile(tensorPickle({ count: 3 })), 'TORCH_STORAGE_SIZE'],
    ['a storage has a type of its own', torchFile(tensorPickle({ type: 'constructor' })), 'TORCH_STORAGE_UNKNOWN'],
    ['the pickle has no end', torchFile(tensorPickle().subarray(0, -1)), 'PICKLE_TRUNCATED'],
    ['the pickle is missing', writeZip([{ name: 'a/version', data: Buffer.from('3') }]), 'TORCH_RECORD_MISSING'],
    ['the version is missing', writeZip([{ name: 'a/data.pkl', data: Buffer.from('N.') }]), 'TORCH_RECORD_MISSING'],
    [
      'the byte order is none',
      torchFile(tensorPickle(), undefined, [{ name: 'archive/byteorder', data: Buffer.from('middle') }]),
      'TORCH_DOCUMENT',
    ],
    ['the data was never written', torchFile(tensorPickle(), [{ data: Buffer.alloc(16), crc: 0 }]), 'TORCH_DATA_SKIPPED'],
  ])('reports that %s', (_, bytes, code) => {
    const { codes, findings } = inspect(bytes);
    expect(codes).toContain(code);
    expect(findings.isBroken).toBe(true);
  });

  it('accepts reserved space that another writer filled, without a checksum to compare', () => {
    const { codes, findings, failed } = inspect(torchFile(tensorPickle(), [{ data: Buffer.alloc(16, 7), crc: 0 }]));
    expect(codes).toEqual(['TORCH_NO_CHECKSUMS']);
    expect(failed).toEqual([]);
    expect(findings.checks.every(({ payloadBytes }) => payloadBytes === 0)).toBe(true);
  });

  it('keeps the checksums of the other storages when one storage is empty', () => {
    const empty = Buffer.from(`(${String(tensorPickle()).slice(0, -1)}${String(tensorPickle({ key: '1', count: 0 })).slice(0, -1)}l.`);
    const { codes, findings } = inspect(torchFile(empty, [{ data: Buffer.alloc(16, 1) }, { data: Buffer.alloc(0) }]));
    expect(codes).toEqual([]);
    expect(findings.checks.filter(({ payloadBytes }) => payloadBytes > 0)).toHaveLength(1);
  });

  it('names the code that a load would run, and still describes the rest of the file', () => {
    const { findings } = inspect(torchFile(Buffer.from("cposix\nsystem\n(S'id'\ntR.")));
    expect(findings.evidence[0]).toMatchObject({ code: 'PICKLE_UNSAFE_GLOBAL', effect: 'security', found: 'posix.system' });
  });

  it('reads the step of a file from one key only', () => {
    const nested = Buffer.from("}(S'epoch'\nI3\nS'trainer_state'\n}(S'step'\nI9\nS'global_step'\nI70\nuu.");
    expect(inspect(torchFile(nested, [])).findings.content.steps).toEqual([
      { step: 70, file: 'file', where: 'file: trainer_state.global_step' },
    ]);
  });

  it('recognises a TorchScript archive', () => {
    const constants = { name: 'archive/constants.pkl', data: Buffer.from('\x80\x02).', 'latin1') };
    expect(inspect(torchFile(tensorPickle(), undefined, [constants])).codes).toEqual(['TORCH_SCRIPT']);
  });

  it('never throws and never accepts a changed tensor, whichever byte changes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(TRAIN.length - 1), fc.nat(255)), { minLength: 1, maxLength: 5 }), (changes) => {
        const bytes = Buffer.from(TRAIN);
        for (const [at, value] of changes) bytes[at] = value;
        const { findings, failed, recognised } = inspect(bytes);
        const isPayloadSame = inspect(TRAIN).findings.checks.every(({ offset, length }) =>
          bytes.subarray(offset, offset + length).equals(TRAIN.subarray(offset, offset + length)),
        );
        if (!isPayloadSame && recognised) expect(findings.isBroken || failed.length > 0).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});
