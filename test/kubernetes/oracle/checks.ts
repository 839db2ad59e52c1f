import { createHash } from 'node:crypto';
import { createRng } from '../../../src/core/rng.ts';
import type { Case, OracleCheck } from './check.ts';
import { EVICT_CHECK } from './evict-check.ts';
import { MERGE_CHECK } from './merge-check.ts';
import { SCHEDULE_CHECK } from './schedule-check.ts';

export const CHECKS: readonly OracleCheck[] = [SCHEDULE_CHECK, EVICT_CHECK, MERGE_CHECK];

/** The cases from one seed on: each has the next one. */
export interface Cases {
  readonly seed: number;
  readonly count: number;
}

/** What the recorded page is about, and the suite takes its slices from. */
export const LONG_RUN: Cases = { seed: 1, count: 10_000 };

/** Each case has a seed of its own, so that one can be asked again. */
export function caseOf(check: OracleCheck, seed: number): Case {
  return check.makeCase(createRng(seed).fork(check.name));
}

/** So many neighbours among all the cases, chosen by a key: the same for the same key, others for another one. */
export function sliceOf({ seed, count }: Cases, key: string, size: number): Cases {
  const drawn = createHash('sha256').update(key).digest().readUInt32BE();
  return { seed: seed + (drawn % (count - size + 1)), count: size };
}
