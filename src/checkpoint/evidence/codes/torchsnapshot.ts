import type { EvidenceKind } from '../evidence.ts';

export const TORCHSNAPSHOT_CODES = {} as const satisfies Record<string, EvidenceKind>;
