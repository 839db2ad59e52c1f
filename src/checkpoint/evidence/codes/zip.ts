import type { EvidenceKind } from '../evidence.ts';

export const ZIP_CODES = {} as const satisfies Record<string, EvidenceKind>;
