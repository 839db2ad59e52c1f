import type { EvidenceKind } from './kind.ts';

/** Faults of a TensorFlow checkpoint. */
export const TENSORFLOW_CODES = {
  TENSORFLOW_UNFINISHED: {
    effect: 'partial',
    title: 'TensorFlow had not finished this save',
    explain:
      'TensorFlow writes these parts into a folder named `…_temp` and moves them to their place at the end. The save was interrupted before that, or is still in progress. Nothing restores from here; you can delete the folder when no writer is at work.',
  },
  TENSORFLOW_INDEX_CUT: {
    effect: 'partial',
    title: 'The end of the index is missing',
    explain:
      'A TensorFlow index ends with a footer that says where its blocks are. This index has no footer. The writer stopped while it wrote the index, which is its last act, or the copy was cut. Without the index the data files cannot be read; use an older checkpoint.',
  },
  TENSORFLOW_INDEX_TRAILING: {
    effect: 'corrupt',
    title: 'Something follows the end of the index',
    explain:
      'The footer of a TensorFlow index must be its last 48 bytes, and here more bytes follow. TensorFlow looks for the footer at the end of the file and refuses such an index. If the rest is sound, you can repair the file: cut it at the given offset.',
  },
  TENSORFLOW_INDEX_CORRUPT: {
    effect: 'corrupt',
    title: 'The index contradicts itself',
    explain:
      'A block of the index does not match its CRC-32C, lies outside the file, or does not hold what it must. The index was damaged or overwritten. TensorFlow refuses it; use an older checkpoint.',
  },
  TENSORFLOW_ENTRY_INVALID: {
    effect: 'corrupt',
    title: 'A tensor is described in an impossible way',
    explain:
      'The index contradicts itself about a tensor: a size that does not fit its type and shape, a data file number beyond the count, or bytes that belong to another tensor too. A defect of the writer caused this, or the index was altered.',
  },
  TENSORFLOW_SLICE_MISSING: {
    effect: 'partial',
    title: 'A part of a partitioned tensor is missing',
    explain:
      'The index says that a tensor is stored in several slices, but does not list all of them. The indexes of the shards were not merged completely. Restoring the tensor fails.',
  },
  TENSORFLOW_SHARD_CUT: {
    effect: 'partial',
    title: 'A data file is shorter than the index says',
    explain:
      'The index places tensors beyond the end of this data file. The file was cut, its copy was not finished, or it is of another save. TensorFlow fails when it reads those tensors; use an older checkpoint.',
  },
  TENSORFLOW_SHARD_TRAILING: {
    effect: 'warning',
    title: 'A data file is longer than the index says',
    explain:
      'The data file continues after the last tensor in the index. TensorFlow never reads those bytes, so the checkpoint loads. But the file changed after the save, or it belongs to another save; `--deep` checks the latter.',
  },
  TENSORFLOW_SHARD_COUNT: {
    effect: 'zombie',
    title: 'Data files of saves with different numbers of shards',
    explain:
      'The name of each data file contains the number of data files. The names do not agree with each other or with the index. Two saves wrote under the same name, or files of two runs were copied together. TensorFlow reads the files that the index names.',
  },
  TENSORFLOW_STRINGS_CORRUPT: {
    effect: 'corrupt',
    title: 'The lengths of a string tensor are damaged',
    explain:
      'A tensor of strings begins with the lengths of the strings and a checksum of them, and these do not match. The data file was damaged in that place, or that place was never written. TensorFlow refuses to restore the tensor.',
  },
  TENSORFLOW_CHECKSUM: {
    effect: 'corrupt',
    title: 'The bytes of a tensor do not match their checksum',
    explain:
      'The index stores a CRC-32C of every tensor, and the bytes in the data file have a different one. They were damaged in transfer or at rest, or the data file belongs to another save. Use an older checkpoint.',
  },
} as const satisfies Record<string, EvidenceKind>;
