import type { EvidenceKind } from '../evidence.ts';

/** What can be wrong between a checkpoint and the manifest that seals it. */
export const MANIFEST_CODES = {
  MANIFEST_INVALID: {
    effect: 'corrupt',
    title: 'The seal is broken',
    explain:
      'The manifest that seals this checkpoint cannot be parsed, contradicts itself, or does not match its own digest: it was cut, changed by hand, or damaged on disk. What it vouched for is not proven any more. The files may still be good: remove the manifest and look with `holdfast verify --deep`, then seal them again.',
  },
  MANIFEST_FOREIGN: {
    effect: 'unreadable',
    title: 'The manifest is of another version',
    explain:
      'A version of Holdfast that this one does not know wrote the manifest, so its seal cannot be judged here. Use that version, or a newer one.',
  },
  MANIFEST_OUTSIDE: {
    effect: 'corrupt',
    title: 'The manifest names files outside its folder',
    explain:
      'A manifest speaks of files in its own folder only. This one has a path that is absolute or leads upwards, which Holdfast never writes: it was made by somebody who wants other files to be read. Nothing outside was opened. Do not trust this checkpoint.',
  },
  MANIFEST_SIZE: {
    effect: 'partial',
    title: 'A file has not the size that was sealed',
    explain:
      'The manifest says how long the file was when the checkpoint was sealed, and it is shorter or longer now: a copy was cut off, or somebody wrote to it afterwards.',
  },
  MANIFEST_CHECKSUM: {
    effect: 'corrupt',
    title: 'Bytes differ from what was sealed',
    explain:
      'A part of a file does not have the crc32c checksum that was recorded when the checkpoint was sealed. The bytes changed since: bad memory, a bad disk, a bad copy, or somebody wrote to the file. Use an older checkpoint; `holdfast resume` does.',
  },
  MANIFEST_UNNAMED: {
    effect: 'warning',
    title: 'A file that the seal does not cover',
    explain:
      'The file lies in a sealed checkpoint, but the manifest does not name it: it was added after sealing. Nothing vouches for it, so a checkpoint with such files is not called RESUMABLE.',
  },
} as const satisfies Record<string, EvidenceKind>;
