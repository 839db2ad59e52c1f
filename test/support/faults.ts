import { closeSync, copyFileSync, ftruncateSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Fixture, WHOLE } from './fixtures.ts';
import { type Pieces, piecesOf, spread } from './fault-pieces.ts';

/**
 * Bytes of a tensor, found by the real loader (test/frameworks/tensor_places.py) and not by our
 * readers.
 */
export interface Place {
  /** Relative to the fixture's folder, like all files here. */
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

/** A fixture that faults are applied to. */
export interface Subject {
  readonly fixture: Fixture;
  /** Every file of the fixture, with its size. */
  readonly files: ReadonlyMap<string, number>;
  /** Longest first, one for each file with values that the loader reads. */
  readonly places: readonly Place[];
  /** A later save of the same run: each file here, with its counterpart there. */
  readonly other: ReadonlyMap<string, string> | null;
}

/** One way to apply a fault to a subject. */
export interface Damage {
  /** The file that is damaged. */
  readonly file: string;
  /** `folder` is a copy of the fixture's folder. */
  readonly apply: (folder: string) => void;
}

/**
 * What `verify` owes:
 * - `structural`: found at quick
 * - `payload`: found by deep where a stored checksum covers the damaged bytes
 * - `extra`: something that does not belong there: refused, or at least mentioned
 * - `tracker`: told as evidence about the run; the checkpoint itself is untouched
 * - `benign`: the verdict stays
 */
export type FaultKind = 'structural' | 'payload' | 'extra' | 'tracker' | 'benign';

export interface Fault {
  readonly id: string;
  readonly title: string;
  readonly kind: FaultKind;
  readonly group: 'bytes' | 'payload' | 'pieces';
  /** Every way to apply the fault to this subject; empty when it makes no sense there. */
  readonly damages: (subject: Subject) => readonly Damage[];
}

/**
 * A file system may keep a smaller file inside its inode, and `verify` does not count blocks below
 * this size.
 */
const MIN_SPARSE_BYTES = 64 * 1024;

const SIZE_FAULTS: readonly Fault[] = [
  bytesFault('cut-half', 'cut in half', (path, size) => truncateSync(path, Math.floor(size / 2))),
  // A quarter of a small file, so that some bytes remain.
  bytesFault('cut-4k', '−4 KiB', (path, size) => truncateSync(path, size - Math.min(4096, Math.ceil(size / 4)))),
  bytesFault('cut-1', '−1 byte', (path, size) => truncateSync(path, size - 1)),
  bytesFault('all-zero', 'right size, all zero', (path, size) => writeFileSync(path, Buffer.alloc(size))),
  bytesFault('empty', '0 bytes', empty),
  { ...bytesFault('junk', '+512 bytes junk', (path) => writeFileSync(path, Buffer.alloc(512, 0x5a), { flag: 'a' })), kind: 'extra' },
  sparseTail(),
];

const PAYLOAD_FAULTS: readonly Fault[] = [
  payloadFault('bit-flip', 'one bit flipped', (bytes, { offset, length }) => {
    const middle = offset + Math.floor(length / 2);
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  }),
  // The middle half of a small tensor.
  payloadFault('zeroed', '64 KiB zeroed', (bytes, { offset, length }) => {
    const count = Math.min(64 * 1024, Math.ceil(length / 2));
    const start = offset + Math.floor((length - count) / 2);
    bytes.fill(0, start, start + count);
  }),
];

const PIECE_FAULTS: readonly Fault[] = [
  piecesFault('missing-shard', 'missing piece', 'structural', { pick: ({ shards }) => shards, apply: (path) => rmSync(path) }),
  piecesFault('empty-marker', 'empty marker', 'structural', { pick: ({ markers }) => markers, apply: empty }),
  piecesFault('empty-tracker', 'empty tracker', 'tracker', { pick: ({ trackers }) => trackers, apply: empty }),
  {
    id: 'other-step',
    title: 'piece of another step',
    kind: 'structural',
    group: 'pieces',
    damages: (subject) =>
      [...new Set([...piecesOf(subject).shards, ...piecesOf(subject).markers])].flatMap((file) => {
        const source = subject.other?.get(file);
        return source === undefined || isSame(source, join(WHOLE, subject.fixture.id, file))
          ? []
          : [{ file, apply: (folder: string) => copyFileSync(source, join(folder, file)) }];
      }),
  },
  {
    id: 'larger-world',
    title: 'leftover of a larger world',
    kind: 'extra',
    group: 'pieces',
    damages: (subject) =>
      piecesOf(subject).leftoverRanks.map(([file, name]) => ({
        file: join(dirname(file), name),
        apply: (folder) => copyFileSync(join(folder, file), join(folder, dirname(file), name)),
      })),
  },
  {
    id: 'temp-leftover',
    title: 'leftover temporary file',
    kind: 'benign',
    group: 'pieces',
    damages: ({ places: [place] }) =>
      place === undefined
        ? []
        : [
            {
              file: join(dirname(place.file), `.tmp-${basename(place.file)}`),
              apply: (folder) => {
                const bytes = readFileSync(join(folder, place.file));
                writeFileSync(join(folder, dirname(place.file), `.tmp-${basename(place.file)}`), bytes.subarray(0, bytes.length / 2));
              },
            },
          ],
  },
];

export const FAULTS: readonly Fault[] = [...SIZE_FAULTS, ...PAYLOAD_FAULTS, ...PIECE_FAULTS];

function isSame(path: string, other: string): boolean {
  return readFileSync(path).equals(readFileSync(other));
}

function empty(path: string): void {
  truncateSync(path, 0);
}

/** Applied to the file with the longest run of tensor bytes. */
function bytesFault(id: string, title: string, apply: (path: string, size: number) => void): Fault {
  return {
    id,
    title,
    kind: 'structural',
    group: 'bytes',
    damages: ({ places: [place] }) => {
      if (place === undefined) return [];
      const { file } = place;
      return [{ file, apply: (folder) => apply(join(folder, file), statSync(join(folder, file)).size) }];
    },
  };
}

/** Done to tensor bytes of the files that hold some. */
function payloadFault(id: string, title: string, change: (bytes: Buffer, place: Place) => void): Fault {
  return {
    id,
    title,
    kind: 'payload',
    group: 'payload',
    damages: ({ places }) =>
      spread(places).map((place) => ({
        file: place.file,
        apply: (folder) => {
          const path = join(folder, place.file);
          const bytes = readFileSync(path);
          change(bytes, place);
          writeFileSync(path, bytes);
        },
      })),
  };
}

function piecesFault(
  id: string,
  title: string,
  kind: FaultKind,
  { pick, apply }: { pick: (pieces: Pieces) => readonly string[]; apply: (path: string) => void },
): Fault {
  return {
    id,
    title,
    kind,
    group: 'pieces',
    damages: (subject) => pick(piecesOf(subject)).map((file) => ({ file, apply: (folder) => apply(join(folder, file)) })),
  };
}

/** Only of files large enough that a file system must count their blocks. */
function sparseTail(): Fault {
  const fault = bytesFault('sparse-tail', 'sparse tail', makeSparseTail);
  const isLarge = ({ files, places: [place] }: Subject) => (files.get(place?.file ?? '') ?? 0) > MIN_SPARSE_BYTES;
  return { ...fault, damages: (subject) => (isLarge(subject) ? fault.damages(subject) : []) };
}

/** Gives the second half back as a hole: the size is right, the bytes were never written. */
function makeSparseTail(path: string, size: number): void {
  const descriptor = openSync(path, 'r+');
  try {
    ftruncateSync(descriptor, Math.floor(size / 2));
    ftruncateSync(descriptor, size);
  } finally {
    closeSync(descriptor);
  }
}
