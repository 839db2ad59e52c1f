import type { EvidenceKind } from '../evidence.ts';

export const GGUF_CODES = {} as const satisfies Record<string, EvidenceKind>;
