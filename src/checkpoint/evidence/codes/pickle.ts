import type { EvidenceKind } from '../evidence.ts';

export const PICKLE_CODES = {} as const satisfies Record<string, EvidenceKind>;
