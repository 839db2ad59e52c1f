import type { EvidenceKind } from './kind.ts';

/** Faults that any file can have, in every format. */
export const FILE_CODES = {
  FILE_EMPTY: {
    effect: 'partial',
    title: 'The file is empty',
    explain:
      'A file that should hold data has no bytes. Typical causes: the writer was killed right after it created the file, the disk was full, or a power loss took bytes that were never synced. Nothing can be loaded from it; use an older checkpoint.',
  },
  FILE_ALL_ZERO: {
    effect: 'corrupt',
    title: 'The file begins with zeros only',
    explain:
      'The file has a size, but where its header should be there are only zero bytes. A power loss leaves this when the size reached the disk and the data did not. A file that was sized in advance looks the same before it is written.',
  },
  FILE_UNRECOGNISED: {
    effect: 'corrupt',
    title: 'The content does not fit the name',
    explain:
      'The name of the file belongs to a known format, but its first bytes match neither that format nor any other that Holdfast knows. It was overwritten, cut at the front, encrypted, or never was a checkpoint.',
  },
  FILE_MISSING: {
    effect: 'partial',
    title: 'A file is missing',
    explain:
      'According to an index, a marker or the numbering of its shards, this file belongs to the checkpoint, and it does not exist. The save did not finish, the copy was incomplete, or the file was deleted.',
  },
  FILE_SPARSE: {
    effect: 'partial',
    title: 'Part of the file was never written',
    explain:
      'The file has its full size, but the disk holds fewer bytes: it has holes, which read as zeros. Writers that reserve the size first leave this behind when they are killed. A copy made with a sparse-aware tool can also turn long runs of real zeros into holes. If the format stores checksums, run `--deep`: matching checksums settle it.',
  },
  FILE_SPARSE_CHECKED: {
    effect: 'note',
    title: 'The file has holes, but its checksums match',
    explain: 'The disk holds fewer bytes than the file has, but every stored checksum over them matches: the holes are real zeros.',
  },
  FILE_COMPRESSED: {
    effect: 'note',
    title: 'Fewer blocks than bytes on a compressing file system',
    explain:
      'The disk holds fewer bytes than the file has. On this file system (btrfs, ZFS, …) compression does that too, so Holdfast does not treat it as a sign of holes.',
  },
  FILE_NOT_REGULAR: {
    effect: 'partial',
    title: 'Not a regular file',
    explain:
      'A pipe, a socket or a device is in the place of a file of the checkpoint. Holdfast does not open it: reading could hang or have side effects. Do not trust a checkpoint from a stranger that contains one.',
  },
  FILE_LINK_OUTSIDE: {
    effect: 'partial',
    title: 'A link leads out of the directory',
    explain:
      'A symbolic link points outside the path that was given, so it was not followed. If the target is legitimate (a Hugging Face cache links into its `blobs` folder, for example), give the common parent as the path.',
  },
  FILE_LINK_BROKEN: {
    effect: 'partial',
    title: 'A link leads nowhere',
    explain: 'A symbolic link of the checkpoint points to a file that does not exist.',
  },
  FILE_NOT_READABLE: {
    effect: 'unreadable',
    title: 'The file cannot be read',
    explain:
      'The system refused to open or read the file; the evidence carries its reason. An I/O error does not prove that the checkpoint is bad, only that Holdfast cannot judge it from here. Try again, or try on the node that wrote it.',
  },
  FILE_OPEN_FOR_WRITING: {
    effect: 'in-progress',
    title: 'A process is writing this file',
    explain:
      'Some process on this machine has the file open for writing right now, so the save is not finished. Verify again when that process is done. Holdfast sees only processes that are visible to the user of `verify`; it does not see a writer on another node.',
  },
  FILE_CHANGED: {
    effect: 'in-progress',
    title: 'The file changed while it was read',
    explain: 'Its size or modification time changed between the first and the last look: a process is still writing it.',
  },
  TEMP_LEFTOVER: {
    effect: 'warning',
    title: 'A temporary file was left behind',
    explain:
      'A file or folder with the name of an unfinished save is beside the checkpoint. An earlier save was interrupted. It is not part of this checkpoint and does not make it worse, but it takes space.',
  },
  INCOMPLETE_MARKER: {
    effect: 'partial',
    title: 'The writer itself says the save is incomplete',
    explain:
      'A marker file such as `checkpoint-is-incomplete.txt` is present: the writer creates it before the save and removes it at the end. The frameworks do not check it when they resume.',
  },
  STEP_MISMATCH: {
    effect: 'zombie',
    title: 'Pieces of several saves',
    explain:
      'Files that belong together carry different steps inside. A load combines weights of one step with the optimizer or the counter of another, and no framework notices. It happens when a save overwrites an older one in place and is interrupted, or when files of two runs are copied into one folder.',
  },
  STEP_NOT_AS_NAMED: {
    effect: 'zombie',
    title: 'The step inside is not the step in the name',
    explain:
      'The directory or file is named for one step and its content says another. Either it was renamed by hand, or content of another save was written into it.',
  },
  WEIGHTS_MISSING: {
    effect: 'partial',
    title: 'There are no weights',
    explain:
      'Optimizer, scheduler or random state was found, but no weights that belong to it. The file that holds them was not saved, not copied, or has a name that Holdfast does not connect with this one.',
  },
  READER_FAILED: {
    effect: 'unreadable',
    title: 'Holdfast failed to read this checkpoint',
    explain:
      'A reader of Holdfast met input that it does not handle. This is a defect in Holdfast, not proof that the checkpoint is bad: please report it, with the file if you can. HOLDFAST_DEBUG=1 shows where it happened.',
  },
  NEWER_THAN_MARKER: {
    effect: 'warning',
    title: 'A data file is newer than its completion marker',
    explain:
      'The marker that says "this save is complete" is older than a file of that save. On the machine that wrote it, this means that the file was overwritten later. Copies and clones reset these times, so it is only a warning.',
  },
  DOCUMENT_INVALID: {
    effect: 'corrupt',
    title: 'A document does not parse',
    explain:
      'A JSON, YAML or text file that belongs to the checkpoint cannot be parsed, or is not of the shape its format prescribes. It was cut, overwritten, or only partly written.',
  },
  LIMIT_EXCEEDED: {
    effect: 'unreadable',
    title: 'Larger than Holdfast is willing to read',
    explain:
      'A count, a length or a nesting depth in the file is larger than any real checkpoint needs, so Holdfast stopped reading. The file is damaged, or was made to exhaust memory. The evidence names the limit.',
  },
} as const satisfies Record<string, EvidenceKind>;
