import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Admission, admitSave, type SaveDemand } from './admission.ts';

const GiB = 2 ** 30;
const DISK = {
  totalBytes: 100 * GiB,
  freeBytes: 45 * GiB,
  availableBytes: 40 * GiB,
  totalInodes: 1_000_000,
  freeInodes: 900_000,
  blockBytes: 4096,
};
const LINE = { signal: 'nodefs.available', bytes: 10 * GiB, inodes: 50_000, text: '10 %' } as const;
const DEMAND: SaveDemand = {
  bytesNeeded: 20 * GiB,
  filesNeeded: 10,
  space: DISK,
  evictionLine: LINE,
  ephemeralLimit: null,
  reclaimable: { bytes: 0, files: 0 },
};

describe('admitSave', () => {
  it.each<[string, Partial<SaveDemand>, Partial<Admission>]>([
    ['fits above the line', {}, { kind: 'fits', limitedBy: 'eviction-line', roomBytes: 30 * GiB }],
    ['would end below the line', { bytesNeeded: 30 * GiB }, { kind: 'refused', missingBytes: 10 * 4096 }],
    ['would fit without the line', { bytesNeeded: 35 * GiB, evictionLine: null }, { kind: 'fits', limitedBy: 'disk' }],
    ['only root could write', { bytesNeeded: 42 * GiB, evictionLine: null }, { kind: 'refused', limitedBy: 'disk' }],
    [
      'fits once old ones are gone',
      { bytesNeeded: 35 * GiB, filesNeeded: 0, reclaimable: { bytes: 8 * GiB, files: 4 } },
      { kind: 'fits-after-release', releaseBytes: 5 * GiB, releaseFiles: 0 },
    ],
    [
      'does not fit even then',
      { bytesNeeded: 39 * GiB, filesNeeded: 0, reclaimable: { bytes: 8 * GiB, files: 4 } },
      { kind: 'refused', missingBytes: GiB },
    ],
    [
      'is over the limit of the pod',
      { ephemeralLimit: { limitBytes: 25 * GiB, usedBytes: 10 * GiB } },
      { kind: 'refused', limitedBy: 'ephemeral-limit', roomBytes: 15 * GiB },
    ],
    ['has too many files', { bytesNeeded: 0, filesNeeded: 850_001 }, { kind: 'refused', limitedBy: 'inodes', missingFiles: 1 }],
    ['is on a file system without inodes', { filesNeeded: 1000, space: { ...DISK, totalInodes: 0, freeInodes: 0 } }, { kind: 'fits' }],
    [
      'starts on a disk that is below the line',
      { bytesNeeded: 0, filesNeeded: 0, space: { ...DISK, availableBytes: 9 * GiB } },
      { kind: 'refused', roomBytes: 0 },
    ],
  ])('a save that %s', (_, change, expected) => {
    expect(admitSave({ ...DEMAND, ...change })).toMatchObject(expected);
  });

  it('refuses with the numbers', () => {
    const refused = admitSave({ ...DEMAND, bytesNeeded: 35 * GiB, filesNeeded: 0, reclaimable: { bytes: 2 * GiB, files: 1 } });
    expect(refused).toMatchObject({
      message:
        'the save needs 35 GiB, but there are 30 GiB free above the eviction line (10 % of 100 GiB; 40 GiB free in all), and releasing what retention allows gives 2 GiB more: 3 GiB are missing',
    });
  });
});

const size = fc.integer({ min: 0, max: 2 ** 40 });
const count = fc.integer({ min: 0, max: 1_000_000 });
const demand: fc.Arbitrary<SaveDemand> = fc.record({
  bytesNeeded: size,
  filesNeeded: count,
  space: fc.record({
    totalBytes: size,
    freeBytes: size,
    availableBytes: size,
    totalInodes: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2_000_000 })),
    freeInodes: count,
    blockBytes: fc.constantFrom(512, 4096, 131_072),
  }),
  evictionLine: fc.option(
    fc.record({ signal: fc.constant('nodefs.available' as const), bytes: size, inodes: count, text: fc.constant('x') }),
  ),
  ephemeralLimit: fc.option(fc.record({ limitBytes: size, usedBytes: size })),
  reclaimable: fc.record({ bytes: size, files: count }),
});

/** How bad an answer is. */
const RANK: Readonly<Record<Admission['kind'], number>> = { fits: 0, 'fits-after-release': 1, refused: 2 };
const rank = (given: SaveDemand): number => RANK[admitSave(given).kind];

describe('admitSave, for all demands', () => {
  it('never admits a save that would end below the line, over the limit of the pod or without inodes, even after releases', () => {
    fc.assert(
      fc.property(demand, (given) => {
        const answer = admitSave(given);
        if (answer.kind === 'refused') return;
        const [bytes, files] = answer.kind === 'fits' ? [0, 0] : [answer.releaseBytes, answer.releaseFiles];
        const { space, evictionLine, ephemeralLimit } = given;
        expect(bytes).toBeLessThanOrEqual(given.reclaimable.bytes);
        expect(files).toBeLessThanOrEqual(given.reclaimable.files);
        expect(space.availableBytes + bytes - given.bytesNeeded).toBeGreaterThanOrEqual(evictionLine?.bytes ?? 0);
        if (space.totalInodes > 0) expect(space.freeInodes + files - given.filesNeeded).toBeGreaterThanOrEqual(evictionLine?.inodes ?? 0);
        if (ephemeralLimit !== null)
          expect(ephemeralLimit.usedBytes - bytes + given.bytesNeeded).toBeLessThanOrEqual(ephemeralLimit.limitBytes);
      }),
    );
  });

  it('asks to release no more than is missing', () => {
    fc.assert(
      fc.property(demand, (given) => {
        const answer = admitSave(given);
        if (answer.kind !== 'fits-after-release') return;
        const { releaseBytes: bytes, releaseFiles: files } = answer;
        expect(rank({ ...given, reclaimable: { bytes, files } })).toBe(1);
        if (bytes > 0) expect(rank({ ...given, reclaimable: { bytes: bytes - 1, files } })).toBe(2);
        if (files > 0) expect(rank({ ...given, reclaimable: { bytes, files: files - 1 } })).toBe(2);
      }),
    );
  });

  it('is monotone: a larger demand or a higher line never helps, and more room never hurts', () => {
    fc.assert(
      fc.property(demand, size, count, (given, bytes, files) => {
        const before = rank(given);
        const { space, evictionLine: line, ephemeralLimit: limit, reclaimable } = given;
        expect(rank({ ...given, bytesNeeded: given.bytesNeeded + bytes })).toBeGreaterThanOrEqual(before);
        expect(rank({ ...given, filesNeeded: given.filesNeeded + files })).toBeGreaterThanOrEqual(before);
        if (line !== null) expect(rank({ ...given, evictionLine: { ...line, bytes: line.bytes + bytes } })).toBeGreaterThanOrEqual(before);
        if (limit !== null)
          expect(rank({ ...given, ephemeralLimit: { ...limit, usedBytes: limit.usedBytes + bytes } })).toBeGreaterThanOrEqual(before);
        expect(rank({ ...given, space: { ...space, availableBytes: space.availableBytes + bytes } })).toBeLessThanOrEqual(before);
        expect(rank({ ...given, space: { ...space, freeInodes: space.freeInodes + files } })).toBeLessThanOrEqual(before);
        expect(rank({ ...given, reclaimable: { bytes: reclaimable.bytes + bytes, files: reclaimable.files + files } })).toBeLessThanOrEqual(
          before,
        );
      }),
    );
  });

  it('ignores the blocks that only root may use', () => {
    fc.assert(
      fc.property(demand, size, (given, freeBytes) => {
        expect(rank({ ...given, space: { ...given.space, freeBytes } })).toBe(rank(given));
      }),
    );
  });
});
