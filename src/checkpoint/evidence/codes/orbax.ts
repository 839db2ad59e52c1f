import type { EvidenceKind } from '../evidence.ts';

export const ORBAX_CODES = {} as const satisfies Record<string, EvidenceKind>;
