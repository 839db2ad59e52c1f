import type { EvidenceKind } from './kind.ts';

/** Differences between a checkpoint and the manifest that seals it. */
export const MANIFEST_CODES = {
  MANIFEST_INVALID: {
    effect: 'corrupt',
    title: 'The seal is broken',
    explain:
      'The manifest of this checkpoint cannot be parsed, contradicts itself, or does not match its own digest. It was cut, changed by hand, or damaged on disk. The seal no longer proves anything. The files may still be good: remove the manifest, check them with `holdfast verify --deep`, and seal them again.',
  },
  MANIFEST_FOREIGN: {
    effect: 'unreadable',
    title: 'The manifest has an unknown version',
    explain: 'An unknown version of Holdfast wrote the manifest, so this version cannot judge the seal. Use that version, or a newer one.',
  },
  MANIFEST_OUTSIDE: {
    effect: 'corrupt',
    title: 'The manifest names files outside its folder',
    explain:
      'A manifest names only files in its own folder. This one has a path that is absolute or leads upwards. Holdfast never writes such a path: the manifest was made to have other files read. Holdfast opened nothing outside the folder. Do not trust this checkpoint.',
  },
  MANIFEST_SIZE: {
    effect: 'partial',
    title: 'A file does not have its sealed size',
    explain:
      'The manifest records the size of the file when the checkpoint was sealed. The file is shorter or longer now: a copy was cut off, or a process wrote to it later.',
  },
  MANIFEST_CHECKSUM: {
    effect: 'corrupt',
    title: 'Bytes differ from the sealed ones',
    explain:
      'A part of a file does not match the crc32c checksum that the seal recorded. The bytes changed since then: bad memory, a bad disk, a bad copy, or a later write to the file. Use an older checkpoint; `holdfast resume` does.',
  },
  MANIFEST_UNNAMED: {
    effect: 'warning',
    title: 'A file that the seal does not cover',
    explain:
      'The file is in a sealed checkpoint, but the manifest does not name it: it was added after sealing. The seal does not cover it, so a checkpoint with such files is never RESUMABLE.',
  },
} as const satisfies Record<string, EvidenceKind>;
