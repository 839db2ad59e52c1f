import type { EvidenceKind } from './kind.ts';

/** Faults of a Composer checkpoint beyond its single files. */
export const COMPOSER_CODES = {
  COMPOSER_LEFTOVER_RANK: {
    effect: 'zombie',
    title: 'A file of a rank that this save does not have',
    explain:
      'Composer stores the random state of every rank in each file, so each file shows how many ranks there were. A file of a rank beyond that number belongs to an earlier save of a larger world under the same name.',
  },
  COMPOSER_FILES_DISAGREE: {
    effect: 'zombie',
    title: 'Rank files disagree about the world that wrote them',
    explain:
      'Each rank file of one save stores the random state of every rank. Here the number of ranks differs from file to file, so they come from saves of different worlds.',
  },
} as const satisfies Record<string, EvidenceKind>;
