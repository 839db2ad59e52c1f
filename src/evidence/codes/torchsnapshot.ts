import type { EvidenceKind } from './kind.ts';

/** Faults of a torchsnapshot. */
export const TORCHSNAPSHOT_CODES = {
  TORCHSNAPSHOT_NO_METADATA: {
    effect: 'partial',
    title: 'The snapshot was never committed',
    explain:
      'The folders of a snapshot exist, but `.snapshot_metadata`, which is written last, does not. The save was interrupted before its end, or the file was not copied. Without it the content of the files is unknown; use an older checkpoint.',
  },
  TORCHSNAPSHOT_LOCATION: {
    effect: 'corrupt',
    title: 'The manifest names a place outside the snapshot',
    explain:
      'An entry of the manifest gives a path that leads out of the snapshot’s folder. It was not followed. No writer produces this; treat the snapshot as hostile unless you know where it comes from.',
  },
  TORCHSNAPSHOT_TRUNCATED: {
    effect: 'partial',
    title: 'A file of the snapshot is cut short',
    explain:
      'The manifest places bytes in a file beyond its end, or the file is smaller than the tensor it holds. The rank that wrote it was killed, its disk was full, or a copy stopped early.',
  },
  TORCHSNAPSHOT_SIZE: {
    effect: 'corrupt',
    title: 'Shape and length of a tensor differ',
    explain:
      'The number of bytes at a tensor’s place is not the number that its shape and element type need. The file belongs to another snapshot, or bytes were added to it. The loader refuses it.',
  },
  TORCHSNAPSHOT_TRAILING: {
    effect: 'warning',
    title: 'A file of the snapshot is longer than the manifest says',
    explain: 'The file continues after the last byte that the manifest accounts for. Loaders ignore the rest; something was appended.',
  },
  TORCHSNAPSHOT_ZEROS: {
    effect: 'warning',
    title: 'A tensor’s file holds zeros',
    explain:
      'The file of one tensor holds zeros at every sampled place. The format stores neither a header nor a checksum with it. So a file that was never filled looks like a tensor of real zeros, such as a freshly initialised one.',
  },
  TORCHSNAPSHOT_OVERLAP: {
    effect: 'corrupt',
    title: 'Two tensors share bytes of a file',
    explain: 'The manifest gives overlapping places to two different tensors. At least one of them would be loaded with wrong bytes.',
  },
  TORCHSNAPSHOT_CHUNKS: {
    effect: 'corrupt',
    title: 'The chunks of a tensor do not make up the tensor',
    explain: 'The manifest cuts a tensor into chunks that leave a part of it out, overlap, or reach beyond it. The manifest was damaged.',
  },
  TORCHSNAPSHOT_UNREFERENCED: {
    effect: 'warning',
    title: 'Files that the manifest does not use',
    explain:
      'The snapshot contains files, or the folder of a rank, that its manifest does not mention. An earlier snapshot into the same folder left them behind. Loaders ignore them.',
  },
  TORCHSNAPSHOT_COUNTERS_DIFFER: {
    effect: 'zombie',
    title: 'Ranks count different numbers of optimizer steps',
    explain:
      'Every rank stores the step counters of its optimizer, and they differ for the same parameter. The folder mixes files of several snapshots, and a load would accept them as one.',
  },
} as const satisfies Record<string, EvidenceKind>;
