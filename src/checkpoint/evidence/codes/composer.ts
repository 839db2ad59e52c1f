import type { EvidenceKind } from '../evidence.ts';

export const COMPOSER_CODES = {
  COMPOSER_LEFTOVER_RANK: {
    effect: 'zombie',
    title: 'A file of a rank that this save does not have',
    explain:
      'Composer stores the random state of every rank in each file, which tells how many ranks there were. A file of a rank beyond that belongs to an earlier save by a larger world under the same name.',
  },
  COMPOSER_FILES_DISAGREE: {
    effect: 'zombie',
    title: 'Rank files disagree about the world that wrote them',
    explain:
      'Each rank file of one save stores the random state of every rank. Here the number of ranks differs from file to file, so they come from saves of different worlds.',
  },
} as const satisfies Record<string, EvidenceKind>;
