import type { EvidenceKind } from '../evidence.ts';

export const NUMPY_CODES = {} as const satisfies Record<string, EvidenceKind>;
