import type { EvidenceKind } from '../evidence.ts';

export const TENSORFLOW_CODES = {} as const satisfies Record<string, EvidenceKind>;
