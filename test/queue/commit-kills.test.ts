import { describe, expect, it } from 'vitest';
import { findStrace } from '../crash/injection/strace.ts';
import { sliceOfCommit } from '../support/slice.ts';
import { COMMITTERS, killAtCommit, planCommitKills } from './commit-kills.ts';

const tracer = findStrace();
const strace = 'path' in tracer ? tracer.path : '';
/** The kills of each kind that one commit of the repository plays; all with HOLDFAST_WHOLE=1. */
const SLICE = 3;

describe.skipIf('missing' in tracer)(
  `SIGKILL at a system call of a commit${'missing' in tracer ? ` (skipped: ${tracer.missing})` : ''}`,
  () => {
    it.each(COMMITTERS)('of the %s loses nothing that was acknowledged, and writes nothing twice', async (committer) => {
      const plan = await planCommitKills(strace, committer);
      expect(plan.length).toBeGreaterThan(7);
      const chosen = sliceOfCommit(
        plan.map(({ call, nth }) => `${call} ${nth}`),
        SLICE,
      );
      const ends = [];
      for (const kill of plan.filter(({ call, nth }) => chosen.has(`${call} ${nth}`))) ends.push(await killAtCommit(strace, kill));
      expect(ends.flatMap(({ faults }) => faults)).toEqual([]);
      expect(ends.some(({ wasStruck }) => wasStruck)).toBe(true);
    });
  },
);
