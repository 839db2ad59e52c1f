import type { EvidenceKind } from './kind.ts';

/** Faults of an HDF5 file. */
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
      'A writer marks the file as open and clears the mark when it closes the file. Here the mark is still set, or data follows behind the recorded end. The process was killed or the node was lost in the middle of the save. The data up to the last flush can look perfectly whole, and libraries open such files silently if the superblock is older than version 3. But everything that the trainer wrote after that flush is missing. Use an older checkpoint. (If you know that the file is complete, `h5clear -s` removes the mark.)',
  },
  HDF5_TRAILING: {
    effect: 'warning',
    title: 'Bytes behind the end of the HDF5 file',
    explain:
      'The file was closed properly, and is longer now than it was then. Readers ignore everything behind the recorded end, so the data is not affected. But something was appended: padding by a transfer tool, or the rest of a longer file that was overwritten.',
  },
  HDF5_STRUCTURE_INVALID: {
    effect: 'corrupt',
    title: 'The structure of the HDF5 file is broken',
    explain:
      'An object header, a group, an index or a description of data is not where the file says, or it contradicts itself. Metadata was overwritten, or a power loss zeroed blocks that had not reached the disk. Data that is found through it is lost; HDF5 tools may still read the rest.',
  },
  HDF5_CHECKSUM_MISMATCH: {
    effect: 'corrupt',
    title: 'Metadata does not match its checksum',
    explain:
      'HDF5 files of the newer versions keep a checksum with each piece of metadata. This one is wrong, so bytes of the metadata changed after they were written: bit rot, a bad disk or cable, or blocks that a power loss zeroed.',
  },
  HDF5_OUT_OF_BOUNDS: {
    effect: 'corrupt',
    title: 'An address lies behind the end of the file',
    explain:
      'An object or a piece of data has an address that is not in the file, although the file has its recorded length. The address or the length was damaged.',
  },
  HDF5_OVERLAP: {
    effect: 'corrupt',
    title: 'Two objects claim the same bytes',
    explain:
      'Two pieces of data, or data and metadata, claim the same bytes of the file. No writer does this: an address was damaged, or the file was made to mislead. Checksums of data are not compared in such a file.',
  },
  HDF5_SIZE_MISMATCH: {
    effect: 'corrupt',
    title: 'A dataset does not have the bytes its shape needs',
    explain:
      'The shape and the element type of a dataset say how many bytes it needs. The space reserved for it, or for one of its chunks, has a different size. One of these numbers was damaged.',
  },
  HDF5_NOT_WRITTEN: {
    effect: 'partial',
    title: 'A dataset was created but not written',
    explain:
      'The dataset has a name, a shape and a type, but all or some of its values were never stored. HDF5 hands out the fill value, zero, for them without an error. A writer that stopped between creating a dataset and filling it leaves this. Loading it would silently replace weights with zeros.',
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
      'The writer asked HDF5 to store a checksum with each chunk of this dataset, and the bytes of this chunk no longer match it. They changed after they were written: bit rot, or blocks that never reached the disk. Loading this dataset fails; use an older checkpoint.',
  },
  HDF5_ELSEWHERE: {
    effect: 'warning',
    title: 'Part of the data is in other files',
    explain:
      'The file refers to data that lies in other files (external storage, a virtual dataset, an external link). Holdfast does not check them, so the verdict is about this file alone.',
  },
  HDF5_UNSUPPORTED: {
    effect: 'unreadable',
    title: 'A feature of HDF5 that Holdfast does not read',
    explain:
      'The file uses a rare feature (a driver that spreads it over several files, shared or compressed heaps of metadata), so not all of it can be judged. It may well be whole; check it with the tools of HDF5.',
  },
} as const satisfies Record<string, EvidenceKind>;
