import type { EvidenceKind } from './kind.ts';

/** Faults of a run's directory as a whole: the files that point at its checkpoints. */
export const RUN_CODES = {
  TRACKER_EMPTY: {
    effect: 'partial',
    title: 'The file that names the newest checkpoint is empty or garbage',
    explain:
      'Frameworks keep the name of the newest checkpoint in a small file (`latest`, `latest_checkpointed_iteration.txt`, `checkpoint`) and rewrite it in place. A kill between truncating and writing leaves it empty, and the loader then stops or starts from scratch. Holdfast judges each checkpoint on its own. Write the name of the last good one into the file.',
  },
  TRACKER_TARGET_MISSING: {
    effect: 'partial',
    title: 'The newest checkpoint is named, but does not exist',
    explain:
      'The file that names the newest checkpoint points at one that does not exist here. It was deleted, not copied, or the pointer was written before the data. The loader will fail, or start from scratch. Write the name of the last good checkpoint into the file.',
  },
  TRACKER_MISSING: {
    effect: 'note',
    title: 'Nothing names the newest checkpoint',
    explain:
      'DeepSpeed and Megatron keep the name of the newest checkpoint in a small file beside them (`latest`, `latest_checkpointed_iteration.txt`) and write it last. The file is missing: the save was killed before its last act, or the checkpoints were copied without it. Holdfast judges each checkpoint on its own, and they may be whole. A loader without a name does not find them: DeepSpeed warns and loads nothing, Megatron starts from scratch. Write the name of the last good one into the file (for Megatron its number), or name it when you load.',
  },
  TRACKER_BEHIND: {
    effect: 'warning',
    title: 'Newer than the file that names the newest checkpoint',
    explain:
      'This checkpoint has a higher step than the one the run names as its newest. Either its save was interrupted before the last act, or the run was rolled back. The loader will ignore it and the next save may overwrite it.',
  },
} as const satisfies Record<string, EvidenceKind>;
