import type { EvidenceKind } from '../evidence.ts';

export const KERAS_CODES = {} as const satisfies Record<string, EvidenceKind>;
