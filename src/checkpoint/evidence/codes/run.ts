import type { EvidenceKind } from '../evidence.ts';

/** What can be wrong with a run's directory as a whole: the files that point at its checkpoints. */
export const RUN_CODES = {
  TRACKER_EMPTY: {
    effect: 'partial',
    title: 'The file that names the newest checkpoint is empty or garbage',
    explain:
      'Frameworks keep the name of the newest checkpoint in a small file (`latest`, `latest_checkpointed_iteration.txt`, `checkpoint`) and rewrite it in place. A kill between truncating and writing leaves it empty, and the loader then stops or starts from nothing. The checkpoints themselves are judged on their own: write the name of the one that is marked as last good into the file.',
  },
  TRACKER_TARGET_MISSING: {
    effect: 'partial',
    title: 'The newest checkpoint is named, but not there',
    explain:
      'The file that names the newest checkpoint points at one that does not exist here. It was deleted, not copied, or the pointer was written before the data. The loader will fail, or start from nothing; point it at the checkpoint that is marked as last good.',
  },
  TRACKER_MISSING: {
    effect: 'note',
    title: 'Nothing names the newest checkpoint',
    explain:
      'DeepSpeed and Megatron keep the name of the newest checkpoint in a small file beside them (`latest`, `latest_checkpointed_iteration.txt`) and write it last. It is not there: the save was killed before its last act, or the checkpoints were copied without it. The checkpoints are judged on their own and may be whole. A loader that is told no name does not find them: DeepSpeed says so and loads nothing, Megatron starts from nothing. Write the name of the one that is marked as last good into the file (for Megatron its number), or name it when you load.',
  },
  TRACKER_BEHIND: {
    effect: 'warning',
    title: 'Newer than the file that names the newest checkpoint',
    explain:
      'This checkpoint has a higher step than the one the run names as its newest. Either its save was interrupted before the last act, or somebody rolled the run back. The loader will ignore it and the next save may overwrite it.',
  },
} as const satisfies Record<string, EvidenceKind>;
