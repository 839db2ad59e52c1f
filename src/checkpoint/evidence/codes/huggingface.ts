import type { EvidenceKind } from '../evidence.ts';

export const HUGGINGFACE_CODES = {} as const satisfies Record<string, EvidenceKind>;
