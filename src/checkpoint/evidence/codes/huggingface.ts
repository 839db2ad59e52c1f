import type { EvidenceKind } from '../evidence.ts';

/** What can be wrong with a checkpoint of Hugging Face Trainer or Accelerate beyond its single files. */
export const HUGGINGFACE_CODES = {
  TRAINER_NO_WEIGHTS: {
    effect: 'partial',
    title: 'No weights in a trainer checkpoint',
    explain:
      'None of the names under which the trainer saves weights is there: `model.safetensors`, an index with shards, `pytorch_model.bin`, an adapter, an FSDP or a DeepSpeed folder. Weights are written first, so the save was killed very early, or they were moved away. The trainer would still choose this directory when its number is the highest.',
  },
  TRAINER_RNG_LEFTOVER: {
    effect: 'zombie',
    title: 'Random state of a rank that this save does not have',
    explain:
      'The checkpoint was saved by a known number of processes, and there is random state of one beyond that, or both the single-process and the per-rank name. An earlier save of a larger or smaller world was overwritten in place. Ranks that resume take the file with their own number, whichever save it came from.',
  },
  TRAINER_STATES_DISAGREE: {
    effect: 'zombie',
    title: 'Optimizer, scheduler and trainer are of different steps',
    explain:
      'The optimizer counts its updates, the scheduler its calls, and the trainer its steps. These counters advance together, and here they contradict each other: one of the files comes from another save. Resuming would apply moments or a learning rate that do not belong to these weights.',
  },
  TRAINER_STATES_BEHIND: {
    effect: 'warning',
    title: 'Optimizer and scheduler counted fewer steps than the trainer',
    explain:
      'The optimizer and the scheduler agree with each other but are behind the step of the trainer. Steps skipped by loss scaling do that, and so does a run that resumed from weights alone. If neither applies, the optimizer and scheduler files are of an older save.',
  },
} as const satisfies Record<string, EvidenceKind>;
