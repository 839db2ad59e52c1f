import type { EvidenceKind } from '../evidence.ts';

export const TORCH_CODES = {} as const satisfies Record<string, EvidenceKind>;
