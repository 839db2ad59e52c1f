import { createHash } from 'node:crypto';
import { createRng } from '../../../src/core/rng.ts';
import type { Case, OracleCheck } from './check.ts';
import { EVICT_CHECK } from './evict-check.ts';
import { GROUP_CHECK } from './group-check.ts';
import { MERGE_CHECK } from './merge-check.ts';
import { SCHEDULE_CHECK } from './schedule-check.ts';

export const CHECKS: readonly OracleCheck[] = [SCHEDULE_CHECK, EVICT_CHECK, MERGE_CHECK, GROUP_CHECK];

/** A range of cases: each one has the seed of the case before it, plus one. */
export interface Cases {
  readonly seed: number;
  readonly count: number;
}

/** The cases of the recorded page. The suite takes its slices from them. */
export const LONG_RUN: Cases = { seed: 1, count: 10_000 };

/** The case of one seed. Each case has its own seed, so that it can be asked again. */
export function caseOf(check: OracleCheck, seed: number): Case {
  return check.makeCase(createRng(seed).fork(check.name));
}

/** Chooses `size` neighbouring cases by a key. The same key always chooses the same ones. */
export function sliceOf({ seed, count }: Cases, key: string, size: number): Cases {
  const drawn = createHash('sha256').update(key).digest().readUInt32BE();
  return { seed: seed + (drawn % (count - size + 1)), count: size };
}
