import type { EvidenceKind } from './kind.ts';

/** Faults of a Megatron checkpoint beyond its single files. */
export const MEGATRON_CODES = {
  MEGATRON_NO_CONFIG: {
    effect: 'partial',
    title: 'Megatron did not finish the checkpoint',
    explain:
      'Megatron writes `metadata.json` after all shards, and its loader does not recognise a folder without it as a distributed checkpoint. The save was interrupted between the shards and this file, or it was not copied.',
  },
  MEGATRON_NO_COMMON: {
    effect: 'partial',
    title: 'The common state is missing',
    explain:
      'Iteration, arguments and scheduler of a Megatron checkpoint are in `common.pt`, or in newer versions in an object `common_state` among the shards. Both are missing, so the run cannot know where it was.',
  },
  MEGATRON_BACKEND_UNKNOWN: {
    effect: 'unreadable',
    title: 'Shards in a form that Holdfast does not read',
    explain:
      '`metadata.json` names another backend for the shards than `torch_dist`. Holdfast reads only that one. The checkpoint may be whole, but nothing was checked.',
  },
  MEGATRON_INTEGRITY_MISMATCH: {
    effect: 'corrupt',
    title: 'A file is not the one that integrity.json describes',
    explain:
      'Megatron recorded the SHA-256 of every file of the checkpoint when it was complete. This file has a different SHA-256 now: it was damaged, or replaced by a file of another save.',
  },
  MEGATRON_INTEGRITY_UNLISTED: {
    effect: 'warning',
    title: 'A file that integrity.json does not know',
    explain:
      '`integrity.json` is written last and lists every file of the checkpoint. This file is not in the list, so it came later or belongs to another save.',
  },
  MEGATRON_INTEGRITY_ALGORITHM: {
    effect: 'warning',
    title: 'Unknown checksum in integrity.json',
    explain: '`integrity.json` uses another algorithm than SHA-256. Its checksums were not compared.',
  },
  MEGATRON_RANKS_SURPLUS: {
    effect: 'zombie',
    title: 'Folders of more ranks than wrote the checkpoint',
    explain:
      'The arguments inside the files record how many tensor-, pipeline- and expert-parallel ranks there were. There are `mp_rank_*` folders beyond that number, left over from an earlier save of more ranks into the same folder. A job with the larger layout would load them together with the new ones.',
  },
  MEGATRON_ARGUMENTS_DIFFER: {
    effect: 'zombie',
    title: 'Files of differently sized runs',
    explain:
      'Every rank’s file holds the arguments of the run, and they disagree about the number of parallel ranks. The files come from several saves of runs with different layouts.',
  },
  NVRX_LOCAL_PART: {
    effect: 'note',
    title: 'One node’s part of a local checkpoint',
    explain:
      'Local checkpoints of the resiliency extension keep each rank’s state on its own node. Holdfast saw only the files on this node. It cannot know whether the parts of all other ranks exist.',
  },
} as const satisfies Record<string, EvidenceKind>;
