import type { EvidenceKind } from './kind.ts';

/** Faults of a zip archive, whatever it holds. */
export const ZIP_CODES = {
  ZIP_NO_END: {
    effect: 'partial',
    title: 'The archive has no end',
    explain:
      'A zip archive is read from its end, where a record gives the place of the table of contents. The last 64 KiB contain no such record: the save was interrupted before it, the file was cut, or more than 64 KiB were appended. The data before it may be intact, but no loader will open the file ("failed finding central directory").',
  },
  ZIP_END_INVALID: {
    effect: 'corrupt',
    title: 'The end of the archive contradicts the file',
    explain:
      'The closing records of the archive exist, but their facts about the table of contents do not fit the file: its position, its size or its number of entries. Bytes were lost, inserted or changed in it.',
  },
  ZIP_DIRECTORY_INVALID: {
    effect: 'corrupt',
    title: 'The table of contents of the archive is damaged',
    explain:
      'An entry of the central directory lacks its signature, runs past the end of the directory, or names a place outside the file. The file was changed after it was written.',
  },
  ZIP_LOCAL_HEADER: {
    effect: 'corrupt',
    title: 'An entry does not begin where the archive says',
    explain:
      'Every entry has a small header of its own in front of its data. At the place that the table of contents names, the header is missing or contradicts the table. The bytes there were overwritten, or the archive was put together from two.',
  },
  ZIP_OVERLAP: {
    effect: 'corrupt',
    title: 'Entries of the archive overlap',
    explain:
      'Two entries claim the same bytes. No writer of checkpoints does this. Zip bombs use it to grow without bound when they are unpacked.',
  },
  ZIP_BOMB: {
    effect: 'corrupt',
    title: 'An entry claims to unpack to more than it can',
    explain:
      'Deflate packs at most about 1032 bytes into one. This entry claims more, so the size is wrong: it is damaged, or was made to exhaust memory.',
  },
  ZIP_ENTRY_SIZE: {
    effect: 'corrupt',
    title: 'An uncompressed entry has two different sizes',
    explain:
      'An uncompressed entry must have the same size stored and unpacked. The table of contents gives two different sizes, so it was damaged.',
  },
  ZIP_ENTRY_UNSUPPORTED: {
    effect: 'unreadable',
    title: 'An entry is packed in a way that is not supported',
    explain:
      'Checkpoint writers store entries uncompressed or deflate them. This entry is encrypted or uses another method, so its content cannot be judged. If the archive was repacked with another tool, unpack it and verify the result.',
  },
  ZIP_DUPLICATE: {
    effect: 'corrupt',
    title: 'Two entries have the same name',
    explain: 'An archive with two entries of one name loads differently with different readers. No checkpoint writer produces it.',
  },
  ZIP_TRAILING: {
    effect: 'warning',
    title: 'Bytes follow the end of the archive',
    explain:
      'More bytes follow the closing record of the archive. Loaders ignore them, and so does the verdict. No writer puts them there: something was appended, or a shorter file overwrote a longer one in place.',
  },
  ZIP_CRC_MISMATCH: {
    effect: 'corrupt',
    title: 'The checksum of an entry does not match',
    explain:
      'The archive stores a CRC-32 of every entry, and the bytes have a different one now: they changed after they were written (a failing disk, a power loss that left zeros, a broken transfer). PyTorch does not compare this checksum and would silently load wrong values. Use an older checkpoint, or another copy of this one.',
  },
} as const satisfies Record<string, EvidenceKind>;
