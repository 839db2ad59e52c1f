import type { EvidenceKind } from './kind.ts';

/** Faults of a Hugging Face Trainer or Accelerate checkpoint beyond its single files. */
export const HUGGINGFACE_CODES = {
  TRAINER_NO_WEIGHTS: {
    effect: 'partial',
    title: 'No weights in a trainer checkpoint',
    explain:
      'No file has a name under which the trainer saves weights: `model.safetensors`, an index with shards, `pytorch_model.bin`, an adapter, an FSDP or a DeepSpeed folder. Weights are written first, so the save was killed very early, or they were moved away. The trainer would still choose this directory if its number is the highest.',
  },
  TRAINER_RNG_LEFTOVER: {
    effect: 'zombie',
    title: 'Random state of a rank that this save does not have',
    explain:
      'The number of processes that saved this checkpoint is known, and there is random state of a process beyond that number. Or both the single-process and the per-rank name exist. An earlier save of a larger or smaller world was overwritten in place. A rank that resumes takes the file with its own number, from whichever save.',
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
