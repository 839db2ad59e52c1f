import type { EvidenceKind } from '../evidence.ts';

export const DCP_CODES = {} as const satisfies Record<string, EvidenceKind>;
