import type { EvidenceKind } from '../evidence.ts';

export const MEGATRON_CODES = {} as const satisfies Record<string, EvidenceKind>;
