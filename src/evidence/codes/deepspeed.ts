import type { EvidenceKind } from './kind.ts';

/** Faults of a DeepSpeed tag directory beyond its single files. */
export const DEEPSPEED_CODES = {
  DEEPSPEED_LEFTOVER_RANK: {
    effect: 'zombie',
    title: 'A file of a rank that this save does not have',
    explain:
      'The files record how many data-parallel and model-parallel ranks wrote them, and there is a file of a rank beyond that number. An earlier run with more ranks saved under the same tag, and the new save overwrote only a part of it. DeepSpeed picks files by name and pattern, and its converter counts them, so such a file is loaded or breaks the load. Remove it only if you are sure which world the other files belong to.',
  },
  DEEPSPEED_FILES_DISAGREE: {
    effect: 'zombie',
    title: 'Files of one tag disagree about the run that wrote them',
    explain:
      'Every file of a tag records the same facts about its run: world sizes, ZeRO stage, number of partitions, DeepSpeed version. Here two files record different ones, so they come from different saves. It happens when a save under the same tag is repeated with another configuration and interrupted, or when files of two runs are copied into one folder.',
  },
  DEEPSPEED_TWO_LAYOUTS: {
    effect: 'zombie',
    title: 'Files of two layouts in one tag directory',
    explain:
      'The folder holds the same state twice, under names of two configurations (ZeRO 3 beside ZeRO 2, or bf16 partitions beside fp16 ones). One of them is left over from an earlier save under this tag. Which one is loaded depends on the configuration of the run that resumes.',
  },
  DEEPSPEED_OPTIMIZER_BEHIND: {
    effect: 'warning',
    title: 'The optimizer made fewer updates than the engine counted steps',
    explain:
      'The optimizer state is behind the step that the model states record, even without the steps that loss scaling skipped. A run that resumed without its optimizer state (`load_optimizer_states=False`) looks like this. If yours did not, the optimizer files are left over from an older save.',
  },
  DEEPSPEED_LAYER_GAP: {
    effect: 'warning',
    title: 'Numbers of pipeline layers are skipped',
    explain:
      'A pipeline model writes one file per layer, and a number between the first and the last has none. Layers without state (plain functions) have no file, so a gap can be correct. A layer that was deleted or never written looks the same. Compare with another checkpoint of the same model.',
  },
  DEEPSPEED_WORLD_UNKNOWN: {
    effect: 'note',
    title: 'The files do not say how many ranks wrote them',
    explain:
      'No model_states file of the tag gives `dp_world_size` and `mp_world_size`. So Holdfast only checked the numbers in the file names for gaps. Holdfast would not notice a missing last rank.',
  },
} as const satisfies Record<string, EvidenceKind>;
