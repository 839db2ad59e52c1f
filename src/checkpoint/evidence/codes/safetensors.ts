import type { EvidenceKind } from '../evidence.ts';

export const SAFETENSORS_CODES = {} as const satisfies Record<string, EvidenceKind>;
