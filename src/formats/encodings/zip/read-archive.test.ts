import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hex32, crc32 } from '../../../core/checksums.ts';
import { writeZip, type ZipMember } from '../../../../test/support/zip-writer.ts';
import { Findings } from '../../reading/findings.ts';
import { memorySource } from '../../../bytes/source/byte-source.ts';
import type { ZipArchive } from './archive.ts';
import { checkOfEntry, entryHead, openEntry, readZip } from './read-archive.ts';

function read(bytes: Buffer, base = 0): { archive: ZipArchive | null; codes: string[]; findings: Findings } {
  const findings = new Findings();
  const archive = readZip(memorySource(bytes, 'a.zip', base), findings);
  return { archive, codes: findings.evidence.map(({ code }) => code), findings };
}

const TWO: readonly ZipMember[] = [
  { name: 'top/first', data: Buffer.from('hello world'), descriptor: true, padding: 13 },
  { name: 'top/second', data: Buffer.alloc(500, 'ab'), deflate: true },
];

/** Writes a number into a copy of an archive, at an offset from a signature. */
function patch(bytes: Buffer, signature: string, at: number, value: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32LE(value, copy.lastIndexOf(Buffer.from(signature, 'latin1')) + at);
  return copy;
}

const member = fc.record({
  name: fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
  data: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  deflate: fc.boolean(),
  descriptor: fc.boolean(),
  padding: fc.integer({ min: 0, max: 70 }),
});
const members = fc.uniqueArray(member, { maxLength: 6, selector: ({ name }) => name });
const shape = fc.record({ zip64: fc.boolean(), comment: fc.string({ maxLength: 40 }) });

describe('the zip reader', () => {
  it('returns every written entry with the place and the checksum of its data', () => {
    fc.assert(
      fc.property(members, shape, fc.nat(1000), (written, options, base) => {
        const bytes = writeZip(written, options);
        const source = memorySource(bytes, 'a.zip', base);
        const { archive, codes, findings } = read(bytes, base);
        expect(codes).toEqual([]);
        expect(archive?.entries.map(({ name }) => name)).toEqual(written.map(({ name }) => name));
        for (const [index, entry] of (archive?.entries ?? []).entries()) {
          const data = written[index]?.data ?? Buffer.alloc(0);
          expect(openEntry(source, entry, findings)?.read(0, data.length + 1)).toEqual(data);
          expect(entryHead(source, entry, 40)).toEqual(data.subarray(0, 40));
          expect(checkOfEntry(source, entry, 7)).toMatchObject({
            offset: base + (entry.dataOffset ?? 0),
            expected: hex32(crc32(data)),
            decodedLength: data.length,
            payloadBytes: 7,
          });
        }
      }),
    );
  });

  it('reports that a truncated archive has no usable end, wherever it was cut', () => {
    const bytes = writeZip(TWO, { zip64: true, comment: 'x' });
    for (let length = 0; length < bytes.length; length++) {
      const { codes } = read(bytes.subarray(0, length));
      expect(codes.some((code) => code === 'ZIP_NO_END' || code === 'ZIP_END_INVALID')).toBe(true);
    }
  });

  it('never throws and always terminates, whichever bytes change', () => {
    fc.assert(
      fc.property(
        members,
        shape,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 12 }),
        (written, options, changes) => {
          const bytes = writeZip(written, options);
          for (const [at, value] of changes) bytes[at % bytes.length] = value;
          const { archive, findings } = read(bytes);
          for (const entry of archive?.entries ?? []) {
            openEntry(memorySource(bytes, 'a.zip'), entry, findings);
            entryHead(memorySource(bytes, 'a.zip'), entry, 64);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('reports bytes after the end as harmless', () => {
    const { archive, codes } = read(Buffer.concat([writeZip(TWO), Buffer.alloc(512, 0x4a)]));
    expect(codes).toEqual(['ZIP_TRAILING']);
    expect(archive?.entries).toHaveLength(2);
  });

  it('ignores an end signature in the comment', () => {
    const { archive, codes } = read(writeZip(TWO, { comment: `PK\x05\x06${'\0'.repeat(30)}` }));
    expect(codes).toEqual([]);
    expect(archive?.entries).toHaveLength(2);
  });

  it.each([
    ['the number of entries is larger than the directory can hold', patch(writeZip(TWO), 'PK\x05\x06', 8, 0x00ff00ff), 'ZIP_END_INVALID'],
    ['the directory is said to lie elsewhere', patch(writeZip(TWO), 'PK\x05\x06', 16, 5), 'ZIP_END_INVALID'],
    ['the 64-bit record is said to lie near 2^64', patch(writeZip(TWO, { zip64: true }), 'PK\x06\x07', 12, 0xffffffff), 'ZIP_END_INVALID'],
    [
      'the directory is said to be near 2^64 bytes long',
      patch(writeZip(TWO, { zip64: true }), 'PK\x06\x06', 44, 0xffffffff),
      'ZIP_END_INVALID',
    ],
    ['an entry of the directory lost its signature', patch(writeZip(TWO), 'PK\x01\x02', 0, 0), 'ZIP_DIRECTORY_INVALID'],
    ['an entry is said to begin elsewhere', patch(writeZip(TWO), 'PK\x01\x02', 42, 3), 'ZIP_LOCAL_HEADER'],
    ['an entry is said to be larger than the file', patch(writeZip(TWO), 'PK\x01\x02', 20, 0x7fffffff), 'ZIP_LOCAL_HEADER'],
    ['a deflated entry claims to unpack to gigabytes', patch(writeZip(TWO), 'PK\x01\x02', 24, 0xf0000000), 'ZIP_BOMB'],
    ['an entry is packed with a method nobody uses', patch(writeZip(TWO), 'PK\x01\x02', 8, 0x000c0800), 'ZIP_ENTRY_UNSUPPORTED'],
    ['an entry is encrypted', patch(writeZip(TWO), 'PK\x01\x02', 8, 0x00080801), 'ZIP_ENTRY_UNSUPPORTED'],
    ['a header says another checksum than the directory', patch(writeZip(TWO), 'PK\x03\x04', 14, 1), 'ZIP_LOCAL_HEADER'],
  ])('reports that %s', (_, bytes, code) => {
    expect(read(bytes).codes).toContain(code);
  });

  it('reports entries that share bytes', () => {
    const bytes = writeZip([
      { name: 'aaaa', data: Buffer.alloc(200) },
      { name: 'bbbb', data: Buffer.alloc(10) },
    ]);
    const first = bytes.indexOf(Buffer.from('PK\x01\x02', 'latin1'));
    const second = first + 46 + 4;
    // The second name in the directory now describes the first entry's bytes.
    bytes.copy(bytes, second, first, second);
    expect(read(bytes).codes).toEqual(expect.arrayContaining(['ZIP_OVERLAP', 'ZIP_DUPLICATE']));
  });

  it('reports an uncompressed entry whose size differs from its size on disk', () => {
    expect(read(patch(writeZip(TWO.slice(0, 1)), 'PK\x01\x02', 24, 3)).codes).toContain('ZIP_ENTRY_SIZE');
  });

  it('refuses more entries than fit in memory before it reads any of them', () => {
    const count = 130_000;
    const directory = Buffer.alloc(46 * count);
    const end = writeZip([], { zip64: true });
    end.writeBigUInt64LE(BigInt(count), 24);
    end.writeBigUInt64LE(BigInt(count), 32);
    end.writeBigUInt64LE(BigInt(directory.length), 40);
    end.writeBigUInt64LE(BigInt(directory.length), 56 + 8);
    end.writeUInt16LE(0xffff, 56 + 20 + 8);
    end.writeUInt16LE(0xffff, 56 + 20 + 10);
    end.writeUInt32LE(directory.length, 56 + 20 + 12);
    expect(read(Buffer.concat([directory, end])).codes).toEqual(['LIMIT_EXCEEDED']);
  });

  it('does not inflate more than the caller allows', () => {
    const bytes = writeZip([{ name: 'zeros', data: Buffer.alloc(1_000_000), deflate: true }]);
    const { archive, findings } = read(bytes);
    const entry = archive?.entries[0];
    if (entry === undefined) throw new Error('the archive was not read');
    expect(openEntry(memorySource(bytes, 'a.zip'), entry, findings, 1000)).toBeNull();
    expect(findings.evidence).toEqual([]);
  });
});
