import type { EvidenceKind } from '../evidence.ts';

export const HDF5_CODES = {} as const satisfies Record<string, EvidenceKind>;
