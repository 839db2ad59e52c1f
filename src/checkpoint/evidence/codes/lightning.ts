import type { EvidenceKind } from '../evidence.ts';

export const LIGHTNING_CODES = {} as const satisfies Record<string, EvidenceKind>;
