import type { EvidenceKind } from '../evidence.ts';

export const RUN_CODES = {} as const satisfies Record<string, EvidenceKind>;
