import type { EvidenceKind } from './kind.ts';

/** Faults of an Orbax checkpoint. */
export const ORBAX_CODES = {
  ORBAX_UNFINISHED: {
    effect: 'partial',
    title: 'Orbax had not finished this save',
    explain:
      'The folder still has the name of a save in flight (`….orbax-checkpoint-tmp…`). Orbax renames it when everything is written, and deletes such folders when it starts again. Unless a writer is still at work, the save was interrupted and you can delete the folder. Its content was never committed.',
  },
  ORBAX_NOT_COMMITTED: {
    effect: 'partial',
    title: 'The save was never committed',
    explain:
      'As its last act Orbax records the time of the commit in `_CHECKPOINT_METADATA`, or writes `commit_success.txt`. Here it did neither. On stores without an atomic rename an interrupted save looks like this, and so does a copy that was not finished. Orbax does not restore from it.',
  },
  ORBAX_MANIFEST_CUT: {
    effect: 'partial',
    title: 'A manifest is cut short',
    explain:
      'A `manifest.ocdbt` is shorter than it says. It leads to everything else, so nothing can be read. It was not written completely, or the copy was cut; use an older checkpoint.',
  },
  ORBAX_MANIFEST_CORRUPT: {
    effect: 'corrupt',
    title: 'A manifest is damaged',
    explain:
      'A `manifest.ocdbt` does not match its CRC-32C, is longer than it says, or does not hold what it must. tensorstore refuses it. If only the manifest of one process (`ocdbt.process_N`) is damaged, a restore may still work, because Orbax reads the merged one. But something damaged the folder.',
  },
  ORBAX_NODE_CORRUPT: {
    effect: 'corrupt',
    title: 'A node of the index is damaged',
    explain:
      'Orbax finds the arrays through nodes in the data files, each with its CRC-32C. This node does not match its CRC-32C, or contradicts the node that refers to it. The data file was damaged, overwritten, or belongs to another save. Arrays below it cannot be read.',
  },
  ORBAX_DATA_CUT: {
    effect: 'partial',
    title: 'A data file is shorter than the index says',
    explain:
      'The index places values beyond the end of this data file. It was cut, or its copy was not finished. Arrays with those values cannot be read; use an older checkpoint.',
  },
  ORBAX_ARRAY_MISSING: {
    effect: 'partial',
    title: 'An array is missing',
    explain:
      'The tree in `_METADATA` names an array that is not stored: neither its description nor any of its chunks exists. The save or a copy of it is incomplete.',
  },
  ORBAX_ARRAY_INVALID: {
    effect: 'corrupt',
    title: 'The description of an array cannot be understood',
    explain:
      'The `.zarray` or `zarr.json` of an array does not parse, or lacks its shape, chunks or type. It was damaged or only partly written.',
  },
  ORBAX_CHUNK_MISSING: {
    effect: 'partial',
    title: 'Chunks of an array are missing',
    explain:
      'An array is stored in chunks, and some of them are missing. Orbax writes every chunk, even one of zeros. A reader silently replaces a missing one with the fill value, so a part of the array would become zero.',
  },
  ORBAX_CHUNK_CUT: {
    effect: 'partial',
    title: 'A chunk is cut short',
    explain:
      'A chunk of an array is shorter than its array or its own compressed data says. It was not written completely, or the copy was cut.',
  },
  ORBAX_CHUNK_CORRUPT: {
    effect: 'corrupt',
    title: 'A chunk is damaged',
    explain:
      'A chunk of an array is longer than it may be, is not compressed as its array says, or has an index that does not match its CRC-32C. It was damaged or overwritten. This format stores no checksum of the numbers themselves, so Holdfast cannot detect damage inside them.',
  },
  ORBAX_INLINE_CHECKSUM: {
    effect: 'corrupt',
    title: 'A node with small arrays does not match its checksum',
    explain:
      'Small arrays are stored inside the nodes of the index, and the CRC-32C of such a node is wrong. The data file was damaged; use an older checkpoint.',
  },
} as const satisfies Record<string, EvidenceKind>;
