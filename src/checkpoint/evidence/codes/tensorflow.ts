import type { EvidenceKind } from '../evidence.ts';

export const TENSORFLOW_CODES = {
  TENSORFLOW_UNFINISHED: {
    effect: 'partial',
    title: 'TensorFlow had not finished this save',
    explain:
      'These are the parts that TensorFlow writes into a folder named `…_temp` and moves to their place at the end. The save was interrupted before that, or is still going on. Nothing restores from here; the folder can go when no writer is at work.',
  },
  TENSORFLOW_INDEX_CUT: {
    effect: 'partial',
    title: 'The end of the index is missing',
    explain:
      'A TensorFlow index ends with a footer that says where its blocks are, and this one does not end so. The writer was stopped while it wrote the index, which it does last, or the copy was cut. Without the index the data files cannot be read; use an older checkpoint.',
  },
  TENSORFLOW_INDEX_TRAILING: {
    effect: 'corrupt',
    title: 'Something follows the end of the index',
    explain:
      'The footer of a TensorFlow index must be its last 48 bytes, and here more bytes follow. TensorFlow looks for the footer at the end of the file and refuses such an index. If the rest is sound, cutting the file at the offset given makes it whole again.',
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
      'The index says something about a tensor that cannot be: a size that does not fit its type and shape, a data file number beyond the count, or bytes that belong to another tensor too. The index was written by a defect or altered.',
  },
  TENSORFLOW_SLICE_MISSING: {
    effect: 'partial',
    title: 'A part of a partitioned tensor is missing',
    explain:
      'The index says that a tensor is stored in several slices, and does not list all of them. The indexes of the shards were not merged completely. Restoring the tensor fails.',
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
      'After the last tensor that the index knows, the data file goes on. TensorFlow never reads those bytes, so the checkpoint loads; but the file is not as its writer left it, or it belongs to another save, which `--deep` finds out.',
  },
  TENSORFLOW_SHARD_COUNT: {
    effect: 'zombie',
    title: 'Data files of saves with different numbers of shards',
    explain:
      'The names of the data files say into how many the checkpoint was split, and they do not agree with each other or with the index. Two saves wrote under the same name, or files of two runs were copied together. TensorFlow reads those the index asks for.',
  },
  TENSORFLOW_STRINGS_CORRUPT: {
    effect: 'corrupt',
    title: 'The lengths of a string tensor are damaged',
    explain:
      'A tensor of strings begins with the lengths of the strings and a checksum of them, and these do not fit together. The data file was damaged in that place, or was never written there. TensorFlow refuses to restore the tensor.',
  },
  TENSORFLOW_CHECKSUM: {
    effect: 'corrupt',
    title: 'The bytes of a tensor do not match their checksum',
    explain:
      'The index stores a CRC-32C of every tensor, and the bytes in the data file have another one. They were damaged on the way or at rest, or the data file is of another save. Use an older checkpoint.',
  },
} as const satisfies Record<string, EvidenceKind>;
