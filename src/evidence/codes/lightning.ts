import type { EvidenceKind } from './kind.ts';

/** Faults of a PyTorch Lightning checkpoint beyond its single files. */
export const LIGHTNING_CODES = {
  LIGHTNING_NO_LOOPS: {
    effect: 'warning',
    title: 'No progress of the loops in a Lightning checkpoint',
    explain:
      'The file holds optimizer state, but not the `loops` entry. Lightning (since 1.5) keeps the progress of the epoch, the batches and the validation there. Resuming starts the current epoch anew. Files written by older versions, or edited by a migration script, look like this.',
  },
} as const satisfies Record<string, EvidenceKind>;
