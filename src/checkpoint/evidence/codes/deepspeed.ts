import type { EvidenceKind } from '../evidence.ts';

export const DEEPSPEED_CODES = {} as const satisfies Record<string, EvidenceKind>;
