import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { fastFolder } from '../states/scenario.ts';
import { runCampaign } from './campaign.ts';
import { findStrace } from './strace.ts';
import { SUBJECTS } from './subjects.ts';

const SEED = 3;
/** Kills at this many uses of each system call; errors come at all of them. */
const KILLS_PER_CALL = 2;

const tracer = findStrace();
const strace = 'path' in tracer ? tracer.path : '';

describe.skipIf('missing' in tracer)(`faults at every system call${'missing' in tracer ? ` (skipped: ${tracer.missing})` : ''}`, () => {
  it.each(SUBJECTS)('leave the last good checkpoint of a %s standing', async (subject) => {
    using folder = fastFolder();
    const rng = createRng(SEED).fork(subject);
    const result = await runCampaign({
      strace,
      subject,
      shape: { bytes: 40_000, ranks: 2 },
      folder: folder.path,
      choose: (positions, { fault }) =>
        fault === 'SIGKILL' ? Array.from({ length: KILLS_PER_CALL }, () => rng.pick(positions)) : positions,
    });
    expect(result.faults.slice(0, 5)).toEqual([]);
    expect(result.ends.killed).toBeGreaterThan(8);
    expect(result.ends.refused).toBeGreaterThan(20);
    expect(result.made).toBeGreaterThan(60);
  });

  it('are told from those of a save that makes room first', async () => {
    using folder = fastFolder();
    const result = await runCampaign({
      strace,
      subject: 'save',
      shape: { bytes: 64, ranks: 1 },
      folder: folder.path,
      isSabotaged: true,
      choose: (positions, { call, fault }) => (call === 'fsync' && fault === 'SIGKILL' ? positions.slice(0, 2) : []),
    });
    expect(result.faults.filter((fault) => fault.includes('resume found nothing'))).not.toEqual([]);
  });
});
