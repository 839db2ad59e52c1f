import type { EvidenceKind } from '../evidence.ts';

/** What can be wrong with a zip archive, whatever it holds. */
export const ZIP_CODES = {
  ZIP_NO_END: {
    effect: 'partial',
    title: 'The archive has no end',
    explain:
      'A zip archive is read from its end, where a record says where the table of contents lies. There is no such record in the last 64 KiB: the save was interrupted before it, the file was cut, or a great deal was appended to it. The data before it may be intact, but no loader will open the file ("failed finding central directory").',
  },
  ZIP_END_INVALID: {
    effect: 'corrupt',
    title: 'The end of the archive contradicts the file',
    explain:
      'The closing records of the archive are there, but what they say about the position, the size or the number of entries of the table of contents does not fit the file. Bytes were lost, inserted or changed in it.',
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
      'Every entry has a small header of its own in front of its data. At the place the table of contents names there is none, or one that says something else. The bytes there were overwritten, or the archive was put together from two.',
  },
  ZIP_OVERLAP: {
    effect: 'corrupt',
    title: 'Entries of the archive overlap',
    explain:
      'Two entries claim the same bytes. No writer of checkpoints does this; it is how archives are made that grow without bound when they are unpacked.',
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
    explain: 'An entry that is stored as it is must take as many bytes as it has. The table of contents says otherwise, so it was damaged.',
  },
  ZIP_ENTRY_UNSUPPORTED: {
    effect: 'unreadable',
    title: 'An entry is packed in a way that is not supported',
    explain:
      'Checkpoint writers store entries as they are or deflate them. This entry is encrypted or uses another method, so its content cannot be judged. If the archive was repacked with another tool, unpack it and verify the result.',
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
      'After the closing record of the archive there are more bytes. Loaders ignore them, and so does the verdict. No writer puts them there: something was appended, or a longer file was overwritten in place by a shorter one.',
  },
  ZIP_CRC_MISMATCH: {
    effect: 'corrupt',
    title: 'The checksum of an entry does not match',
    explain:
      'The archive stores a CRC-32 of every entry, and the bytes that are there now have another one: they changed after they were written (a failing disk, a power loss that left zeros, a broken transfer). PyTorch does not look at this checksum and would load the wrong values without a word. Use an older checkpoint, or another copy of this one.',
  },
} as const satisfies Record<string, EvidenceKind>;
