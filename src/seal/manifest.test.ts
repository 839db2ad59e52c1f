import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatManifest, formatReadable, type Manifest, MANIFEST_SCHEMA, PART_BYTES, parseManifest, sha256 } from './manifest.ts';
import { formatReceipt, parseReceipt, type Receipt, RECEIPT_SCHEMA } from './receipt.ts';

const MANIFEST: Manifest = {
  schema: MANIFEST_SCHEMA,
  run: 'run-1',
  attempt: 3,
  save: 'save-1',
  step: 200,
  worldSize: 2,
  origin: 'save',
  format: null,
  sealedAt: '2026-01-01T00:00:00.000Z',
  bootId: null,
  receipts: [
    { rank: 0, sha256: 'a'.repeat(64) },
    { rank: 1, sha256: 'b'.repeat(64) },
  ],
  files: [{ path: 'model/shard-0.pt', size: PART_BYTES + 1, crc32c: ['00000000', 'ffffffff'] }],
};

describe('a manifest that is about to seal', () => {
  it('is written like any other if it can be read again', () => {
    expect(formatReadable(MANIFEST, 'step-1')).toBe(formatManifest(MANIFEST));
  });

  it.each<[string, Partial<Manifest>, RegExp]>([
    [
      'files',
      { files: Array.from({ length: 500_001 }, (_, n) => ({ path: `${n}`, size: 0, crc32c: [] })) },
      /would name 500001 files, at most 500000/,
    ],
    [
      'bytes',
      { files: Array.from({ length: 9 }, (_, n) => ({ path: `${n}${'é'.repeat(2_000_000)}`, size: 0, crc32c: [] })) },
      /would have \d+ bytes/,
    ],
    [
      'checksums',
      { files: [{ path: 'a', size: 1, crc32c: Array.from({ length: 1_900_000 }, () => '00000000') }] },
      /more values than are read/,
    ],
  ])('is refused with more %s than Holdfast reads', (_, change, message) => {
    const refused = (): string => formatReadable({ ...MANIFEST, ...change }, '/runs/a/step-1');
    expect(refused).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_NOT_SEALABLE', message: expect.stringMatching(message) as string }),
    );
  });
});

/** A changed manifest with the right digest, as an attacker would make it. */
function withChange(change: Record<string, unknown>): string {
  const text = JSON.stringify({ ...MANIFEST, ...change });
  const body = text.slice(0, -1);
  return `${body},\n"sha256":"${sha256(body)}"}\n`;
}

const hex = (length: number) => fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: length, maxLength: length });
const name = fc
  .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
  .filter((text) => !/[/\0]/.test(text) && text !== '.' && text !== '..' && Buffer.byteLength(text) < 256 && text.isWellFormed());
const file = fc.tuple(fc.array(name, { minLength: 1, maxLength: 4 }), fc.nat({ max: 3 * PART_BYTES })).chain(([names, size]) => {
  const parts = Math.ceil(size / PART_BYTES);
  return fc.record({
    path: fc.constant(names.join('/')),
    size: fc.constant(size),
    crc32c: fc.array(hex(8), { minLength: parts, maxLength: parts }),
  });
});

describe('a manifest', () => {
  it('comes back as it was written, whatever the names of its files', () => {
    fc.assert(
      fc.property(fc.uniqueArray(file, { selector: ({ path }) => path, maxLength: 20 }), (files) => {
        const isOwnName = files.some(({ path }) => path === 'holdfast.manifest.json');
        const parsed = parseManifest(formatManifest({ ...MANIFEST, files }));
        expect(parsed).toEqual(isOwnName ? expect.objectContaining({ ok: false }) : { ok: true, manifest: { ...MANIFEST, files } });
      }),
    );
  });

  it('is refused after any change of a byte', () => {
    const bytes = Buffer.from(formatManifest(MANIFEST));
    fc.assert(
      fc.property(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ flip;
        expect(parseManifest(damaged.toString('utf8')).ok).toBe(false);
      }),
    );
  });

  it('is refused when it is cut anywhere', () => {
    const text = formatManifest(MANIFEST);
    for (let length = 0; length < text.length; length++) expect(parseManifest(text.slice(0, length)).ok).toBe(false);
  });

  it('never throws, whatever the JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(parseManifest(JSON.stringify(value)).ok).toBe(false);
      }),
    );
  });

  it('never throws, whatever one of its fields holds', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(MANIFEST)), fc.jsonValue(), (key, value) => {
        expect(() => parseManifest(withChange({ [key]: value }))).not.toThrow();
      }),
    );
  });

  it.each([
    ['leads upwards', '../secret', 'outside'],
    ['leads upwards in the middle', 'model/../../secret', 'outside'],
    ['is absolute', '/etc/passwd', 'outside'],
    ['holds a NUL', 'model\0.pt', 'outside'],
    ['is empty', '', 'outside'],
    ['has an empty name', 'model//shard', 'outside'],
    ['names the folder itself', '.', 'outside'],
    ['ends with a slash', 'model/', 'outside'],
    ['is longer than any path', 'a/'.repeat(3000), 'outside'],
    ['is the manifest itself', 'holdfast.manifest.json', 'invalid'],
  ] as const)('is refused when a path %s', (_, path, kind) => {
    expect(parseManifest(withChange({ files: [{ path, size: 0, crc32c: [] }] }))).toMatchObject({ ok: false, kind });
  });

  it.each([
    ['a file twice', { files: [MANIFEST.files[0], MANIFEST.files[0]] }],
    ['fewer checksums than parts', { files: [{ path: 'a', size: PART_BYTES + 1, crc32c: ['00000000'] }] }],
    ['more checksums than parts', { files: [{ path: 'a', size: 1, crc32c: ['00000000', '00000000'] }] }],
    ['a size no file has', { files: [{ path: 'a', size: 1e300, crc32c: [] }] }],
    ['a negative size', { files: [{ path: 'a', size: -1, crc32c: [] }] }],
    ['a huge world', { worldSize: 1e15, receipts: [] }],
    ['a receipt too few', { receipts: [MANIFEST.receipts[0]] }],
    ['the receipt of a rank twice', { receipts: [MANIFEST.receipts[0], MANIFEST.receipts[0]] }],
    ['no run', { run: '' }],
    ['half a step', { step: 0.5 }],
    ['no time', { sealedAt: 'yesterday' }],
    ['an unknown origin', { origin: 'elsewhere' }],
  ])('is refused with %s', (_, change) => {
    expect(parseManifest(withChange(change))).toMatchObject({ ok: false, kind: 'invalid' });
  });

  it('of another version is recognised, with its run', () => {
    expect(parseManifest(withChange({ schema: 'holdfast.manifest/2' }))).toMatchObject({ ok: false, kind: 'foreign', run: 'run-1' });
  });

  it('with more files than any real checkpoint exceeds the limits', () => {
    const files = Array.from({ length: 600_000 }, () => 0);
    expect(parseManifest(withChange({ files }))).toMatchObject({ ok: false, kind: 'limit' });
  });
});

describe('a receipt', () => {
  const RECEIPT: Receipt = {
    schema: RECEIPT_SCHEMA,
    run: 'run-1',
    attempt: 3,
    save: 'save-1',
    step: 200,
    worldSize: 2,
    rank: 1,
    files: MANIFEST.files,
  };

  it('comes back as it was written', () => {
    expect(parseReceipt(formatReceipt(RECEIPT))).toEqual({ ok: true, value: RECEIPT });
  });

  it('never throws, whatever the JSON or one of its fields', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(RECEIPT)), fc.jsonValue(), (key, value) => {
        expect(parseReceipt(JSON.stringify(value)).ok).toBe(false);
        expect(() => parseReceipt(JSON.stringify({ ...RECEIPT, [key]: value }))).not.toThrow();
      }),
    );
  });

  it.each([
    ['a rank beyond the world', { rank: 2 }],
    ['a path that leads out', { files: [{ path: '../x', size: 0, crc32c: [] }] }],
    ['another schema', { schema: 'holdfast.receipt/2' }],
    ['no save', { save: '' }],
  ])('is refused with %s', (_, change) => {
    expect(parseReceipt(JSON.stringify({ ...RECEIPT, ...change })).ok).toBe(false);
  });
});
