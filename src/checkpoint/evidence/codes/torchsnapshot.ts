import type { EvidenceKind } from '../evidence.ts';

export const TORCHSNAPSHOT_CODES = {
  TORCHSNAPSHOT_NO_METADATA: {
    effect: 'partial',
    title: 'The snapshot was never committed',
    explain:
      'The folders of a snapshot are there, but `.snapshot_metadata`, which is written last, is not. The save was interrupted before its end, or the file was not copied. Nothing says what the files hold; use an older checkpoint.',
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
    explain: 'After the last byte that the manifest accounts for the file goes on. Loaders ignore that; something was appended.',
  },
  TORCHSNAPSHOT_ZEROS: {
    effect: 'warning',
    title: 'A tensor’s file holds zeros',
    explain:
      'The file of one tensor holds zeros wherever it was looked at. The format stores neither a header nor a checksum with it, so a file that was never filled looks like a tensor that is really zero, as freshly initialised ones may be.',
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
      'Files or the folder of a rank lie in the snapshot that its manifest does not mention. They are left from an earlier snapshot into the same folder. Loaders ignore them.',
  },
  TORCHSNAPSHOT_COUNTERS_DIFFER: {
    effect: 'zombie',
    title: 'Ranks count different numbers of optimizer steps',
    explain:
      'Every rank stores the step counters of its optimizer, and for the same parameter they are not the same. Files of several snapshots are mixed in one folder, and a load would take them as one.',
  },
} as const satisfies Record<string, EvidenceKind>;
