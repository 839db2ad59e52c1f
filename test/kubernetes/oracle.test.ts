import { describe, expect, it } from 'vitest';
import { CHECKS, LONG_RUN, sliceOf } from './oracle/checks.ts';
import { whyNoOracle } from './oracle/oracle.ts';
import { runCheck } from './oracle/run-checks.ts';
import { commitHash } from './traces/slice.ts';

const reason = whyNoOracle();
/** Of the cases of the long run (`npm run oracles:long`) so many, others for every commit. */
const SLICE = sliceOf(LONG_RUN, commitHash(), 300);

describe.skipIf(reason !== null)(`Kubernetes’ own code${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it.for(CHECKS.map((check) => [check.name, check] as const))(
    `does what we believe, in ${SLICE.count} cases from seed ${SLICE.seed} on: %s`,
    async ([, check]) => {
      const { disagreements, cases } = await runCheck(check, SLICE);
      expect(disagreements).toEqual([]);
      expect(cases).toBe(SLICE.count);
    },
  );
});
