import { describe, expect, it } from 'vitest';
import { findStrace } from '../crash/injection/strace.ts';
import { COMMIT, IS_WHOLE, sliceBy } from '../support/slice.ts';
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
      const kills = new Map(plan.map((kill) => [`${kill.call} ${kill.nth}`, kill]));
      let struck = 0;
      for (const [played, name] of sliceBy(COMMIT, [...kills.keys()], kills.size).entries()) {
        // A thread that had to wait for another makes calls that it does not make again, so the
        // kills of a commit may all miss.
        if (!IS_WHOLE && played >= SLICE && struck > 0) break;
        const kill = kills.get(name);
        if (kill === undefined) throw new Error(`no kill is called ${name}`);
        const { faults, wasStruck } = await killAtCommit(strace, kill);
        expect(faults).toEqual([]);
        if (wasStruck) struck += 1;
      }
      expect(struck).toBeGreaterThan(0);
    });
  },
);
