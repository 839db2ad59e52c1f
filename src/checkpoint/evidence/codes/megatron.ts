import type { EvidenceKind } from '../evidence.ts';

export const MEGATRON_CODES = {
  MEGATRON_NO_CONFIG: {
    effect: 'partial',
    title: 'Megatron did not finish the checkpoint',
    explain:
      'Megatron writes `metadata.json` after all shards, and its loader takes a folder without it for no distributed checkpoint at all. The save was interrupted between the shards and this file, or it was not copied.',
  },
  MEGATRON_NO_COMMON: {
    effect: 'partial',
    title: 'The common state is missing',
    explain:
      'Iteration, arguments and scheduler of a Megatron checkpoint are in `common.pt`, or in newer versions in an object `common_state` among the shards. Neither is there, so the run cannot know where it was.',
  },
  MEGATRON_BACKEND_UNKNOWN: {
    effect: 'unreadable',
    title: 'Shards in a form that Holdfast does not read',
    explain:
      '`metadata.json` names another backend for the shards than `torch_dist`. Only that one is read; the checkpoint may be whole, but nothing was checked.',
  },
  MEGATRON_INTEGRITY_MISMATCH: {
    effect: 'corrupt',
    title: 'A file is not the one that integrity.json describes',
    explain:
      'Megatron recorded the SHA-256 of every file of the checkpoint when it was complete. This file has another one now: it was damaged, or replaced by a file of another save.',
  },
  MEGATRON_INTEGRITY_UNLISTED: {
    effect: 'warning',
    title: 'A file that integrity.json does not know',
    explain:
      '`integrity.json` is written last and lists every file that is there. This one is not in the list, so it came later or belongs to another save.',
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
      'The arguments inside the files say how many tensor-, pipeline- and expert-parallel ranks there were, and there are `mp_rank_*` folders beyond that. They are left from an earlier save by more ranks into the same folder; a job with the larger layout would load them together with the new ones.',
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
      'Local checkpoints of the resiliency extension keep each rank’s state on its own node. Only the files on this node were seen; whether the parts of all ranks exist somewhere cannot be told from here.',
  },
} as const satisfies Record<string, EvidenceKind>;
