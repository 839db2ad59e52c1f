import type { EvidenceKind } from '../evidence.ts';

export const COMPOSER_CODES = {} as const satisfies Record<string, EvidenceKind>;
