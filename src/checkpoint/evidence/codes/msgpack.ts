import type { EvidenceKind } from '../evidence.ts';

export const MSGPACK_CODES = {} as const satisfies Record<string, EvidenceKind>;
