import type { EvidenceKind } from '../evidence.ts';

export const HDF5_CODES = {
  HDF5_TRUNCATED: {
    effect: 'partial',
    title: 'The HDF5 file is cut short',
    explain:
      'The superblock at the beginning records where the file ended when it was closed, and the file is shorter now. A copy or a download stopped early, the disk was full, or a power loss took the end. The library refuses to open it; copy it again or use an older checkpoint.',
  },
  HDF5_NOT_CLOSED: {
    effect: 'partial',
    title: 'The HDF5 file was never closed',
    explain:
      'A writer marks the file as open and clears the mark when it closes it; here it is still set, or data follows behind the end that the file records. The process was killed or the node went away in the middle of the save. What was written up to the last flush can look perfectly whole, and libraries open such files without a word when the superblock is older than version 3, but whatever the trainer wrote after that flush is missing. Use an older checkpoint. (If the file was in truth complete, `h5clear -s` removes the mark.)',
  },
  HDF5_TRAILING: {
    effect: 'warning',
    title: 'Bytes behind the end of the HDF5 file',
    explain:
      'The file was closed in order, and is longer now than it was then. Readers ignore what lies behind the recorded end, so the data is not affected, but something was appended: padding by a transfer tool, or the rest of a longer file that was overwritten.',
  },
  HDF5_STRUCTURE_INVALID: {
    effect: 'corrupt',
    title: 'The structure of the HDF5 file is broken',
    explain:
      'Where the file says that an object header, a group, an index or a description of data lies, there is something else, or it contradicts itself. Metadata was overwritten, or zeroed by a power loss that took blocks which had not reached the disk. Data that is found through it is lost; the rest may still be readable with HDF5 tools.',
  },
  HDF5_CHECKSUM_MISMATCH: {
    effect: 'corrupt',
    title: 'Metadata does not match its checksum',
    explain:
      'HDF5 files of the newer versions keep a checksum with each piece of metadata. This one is wrong, so bytes of the metadata changed after they were written: bit rot, a bad disk or cable, or blocks that a power loss zeroed.',
  },
  HDF5_OUT_OF_BOUNDS: {
    effect: 'corrupt',
    title: 'Something lies behind the end of the file',
    explain:
      'An object or a piece of data is said to lie at an address that is not in the file, although the file has the length it records. The address or the length was damaged.',
  },
  HDF5_OVERLAP: {
    effect: 'corrupt',
    title: 'Two things lie in the same place',
    explain:
      'Two pieces of data, or data and metadata, claim the same bytes of the file. No writer does this: an address was damaged, or the file was made to mislead. Checksums of data are not compared in such a file.',
  },
  HDF5_SIZE_MISMATCH: {
    effect: 'corrupt',
    title: 'A dataset does not have the bytes its shape needs',
    explain:
      'The shape and the element type of a dataset say how many bytes it needs, and the space set aside for it, or for one of its chunks, is another size. One of these numbers was damaged.',
  },
  HDF5_NOT_WRITTEN: {
    effect: 'partial',
    title: 'A dataset was created but not written',
    explain:
      'The dataset has a name, a shape and a type, but all or some of its values were never stored. HDF5 hands out the fill value, zero, for them without an error. A writer that was stopped between creating a dataset and filling it leaves this; loading it would silently put zeros in place of weights.',
  },
  HDF5_EMPTY: {
    effect: 'partial',
    title: 'The HDF5 file holds no data',
    explain:
      'The file is sound, but there is no dataset in it. The save was stopped before it wrote the first one, or the file is not a checkpoint.',
  },
  HDF5_CHUNK_CHANGED: {
    effect: 'corrupt',
    title: 'A chunk does not match its Fletcher-32',
    explain:
      'The writer asked HDF5 to store a checksum with each chunk of this dataset, and the bytes of this chunk no longer match theirs. They changed after they were written: bit rot, or blocks that never reached the disk. Loading this dataset fails; use an older checkpoint.',
  },
  HDF5_ELSEWHERE: {
    effect: 'warning',
    title: 'Part of the data is in other files',
    explain:
      'The file refers to data that lies in other files (external storage, a virtual dataset, an external link). These are not looked at, so the verdict is about this file alone.',
  },
  HDF5_UNSUPPORTED: {
    effect: 'unreadable',
    title: 'A feature of HDF5 that Holdfast does not read',
    explain:
      'The file uses a rare feature (a driver that spreads it over several files, shared or compressed heaps of metadata), so not all of it can be judged. It may well be whole; ask the tools of HDF5.',
  },
} as const satisfies Record<string, EvidenceKind>;
