import { describe, expect, it } from 'vitest';
import { EVICT_CHECK } from './oracle/evict-check.ts';
import { MERGE_CHECK } from './oracle/merge-check.ts';
import { askOracle, whyNoOracle } from './oracle/oracle.ts';
import { runCheck } from './oracle/run-checks.ts';
import { SCHEDULE_CHECK } from './oracle/schedule-check.ts';

const reason = whyNoOracle();
/** A slice of the long run (`npm run oracles:long`). */
const SLICE = { seed: 1, count: 300 };

describe.skipIf(reason !== null)(`Kubernetes’ own code${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it.for([SCHEDULE_CHECK, EVICT_CHECK, MERGE_CHECK].map((check) => [check.name, check] as const))(
    'does what we believe: %s',
    async ([, check]) => {
      const { disagreements, cases } = await runCheck(check, SLICE);
      expect(disagreements).toEqual([]);
      expect(cases).toBe(SLICE.count);
    },
  );

  it('refuses what it cannot read, and goes on', async () => {
    const answers = await askOracle([
      { schedule: { nodes: 7 } },
      {},
      { evict: { signal: 'smell' } },
      { evict: { signal: 'memory', pods: [], stats: {} } },
    ]);
    expect(answers.map((answer) => Object.keys(answer as object))).toEqual([['error'], ['error'], ['error'], ['order']]);
  });
});
