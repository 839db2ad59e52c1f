import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, runProcess } from '../support/run-process.ts';
import { COMMIT } from '../support/slice.ts';
import { CHECKS, LONG_RUN, sliceOf } from './oracle/checks.ts';
import { MUTANT_CASES } from './oracle/mutant-list.ts';
import { whyNoOracle } from './oracle/oracle.ts';
import { runCheck } from './oracle/run-checks.ts';

const LONG = join(ROOT, 'test/kubernetes/oracle/long-run.ts');
const reason = whyNoOracle();
/**
 * The cases of the long run (`npm run oracles:long`) that this commit asks; other commits ask
 * others.
 */
const SLICE = sliceOf(LONG_RUN, COMMIT, MUTANT_CASES.count);

describe.skipIf(reason !== null)(`Kubernetes’ own code${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it.for(CHECKS.filter(({ releases }) => releases.includes(35)).map((check) => [check.name, check] as const))(
    `agrees with ours, in ${SLICE.count} cases from seed ${SLICE.seed} on: %s`,
    async ([, check]) => {
      const { disagreements, cases } = await runCheck(check, SLICE, 35);
      expect(disagreements).toEqual([]);
      expect(cases).toBe(SLICE.count);
    },
  );

  it('disagrees with ours when ours is wrong on purpose', async () => {
    // A process of its own: Vitest loads modules itself, and the mistakes are put in as they load.
    const { code, stdout } = await runProcess(process.execPath, [LONG, '--mutants', '--release=35'], { env: process.env });
    expect(stdout).toMatch(/^wrong on purpose: \d+, of which 0 were not found$/m);
    expect(code).toBe(0);
  });
});
