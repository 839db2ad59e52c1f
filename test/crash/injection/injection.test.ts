import { describe, expect, it } from 'vitest';
import { createRng, type Rng } from '../../../src/core/rng.ts';
import { fastFolder } from '../states/scenario.ts';
import { type Made, type Planned, runCampaign } from './campaign.ts';
import { type Phase, PHASES_OF } from './phases.ts';
import { FAULTS, findStrace } from './strace.ts';
import { type Subject, SUBJECTS } from './subjects.ts';

const SEED = 3;
/**
 * Injections for each phase and fault. The long run makes all of them. Subjects that share most of
 * a phase get fewer.
 */
const PER_PHASE: Readonly<Partial<Record<Subject, number>>> = { save: 2, ship: 2 };

const tracer = findStrace();
const strace = 'path' in tracer ? tracer.path : '';

function slice(possible: readonly Planned[], subject: Subject, rng: Rng): Planned[] {
  const most = PER_PHASE[subject] ?? 1;
  const groups = Map.groupBy(possible, ({ phase, fault }) => `${phase} ${fault}`);
  return [...groups.values()].flatMap((group) => Array.from({ length: Math.min(most, group.length) }, () => rng.pick(group)));
}

/** Where a kill leaves a half-done change: between the steps that change names or make files. */
function kills(possible: readonly Planned[], subject: Subject): Planned[] {
  const calls = subject === 'fetch' ? ['openat'] : ['rename', 'unlink'];
  return possible.filter(({ call, fault }) => fault === 'SIGKILL' && calls.includes(call));
}

function phasesOf(made: readonly Made[]): ReadonlySet<Phase> {
  return new Set(made.map(({ phase }) => phase));
}

describe.skipIf('missing' in tracer)(`faults at every system call${'missing' in tracer ? ` (skipped: ${tracer.missing})` : ''}`, () => {
  it.each(SUBJECTS)('leave the last good checkpoint of a %s in place, in every phase', async (subject) => {
    using folder = fastFolder();
    const rng = createRng(SEED).fork(subject);
    const shape = { bytes: 40_000, ranks: 2, isFirst: false };
    const { made, faults } = await runCampaign({
      strace,
      subject,
      shape,
      folder: folder.path,
      choose: (possible) => slice(possible, subject, rng),
    });
    expect(faults.slice(0, 5)).toEqual([]);
    expect([...phasesOf(made)]).toEqual(expect.arrayContaining([...PHASES_OF[subject]]));
    const least = subject in PER_PHASE ? 5 : 2;
    for (const fault of FAULTS) expect(made.filter((one) => one.fault === fault).length).toBeGreaterThanOrEqual(least);
    expect(made.filter(({ end }) => end === 'killed').length).toBeGreaterThanOrEqual(least);
  });

  /** The sabotage of each subject, and the complaint that reveals it. */
  const SABOTAGES: readonly (readonly [Subject, string, string])[] = [
    ['save', 'makes room first', 'resume found nothing'],
    ['seal', 'hides errors', 'resume found 1/3, not 1/4'],
    ['prune', 'deletes in place', 'step-1'],
    ['ship', 'sends the manifest first', 'the copy has its manifest, but'],
    ['seal-file', 'hides errors', 'resume found 1/3, not 1/4'],
    ['seal-into', 'moves the seal first', 'ckpt-4'],
    ['prune-files', 'deletes in place', 'ckpt-2: '],
    ['quarantine-file', 'throws away what is bad', 'is lost'],
    ['fetch', 'copies in place', 'step-3'],
  ];
  /** Only a kill at the right place reveals these. */
  const HALF_WAY: ReadonlySet<Subject> = new Set(['prune', 'seal-into', 'prune-files', 'quarantine-file', 'fetch']);
  // The first that reveals it ends the play, so most come to few.
  it.each(SABOTAGES)('reveal a %s that %s', async (subject, _, complaint) => {
    using folder = fastFolder();
    const rng = createRng(SEED).fork(subject);
    const shape = { bytes: 64, ranks: 1, isFirst: false };
    const { faults } = await runCampaign({
      strace,
      subject,
      shape,
      folder: folder.path,
      isSabotaged: true,
      until: (fault) => fault.includes(complaint),
      choose: (possible) => (HALF_WAY.has(subject) ? kills(possible, subject) : [...slice(possible, subject, rng), ...possible]),
    });
    expect(faults.filter((fault) => fault.includes(complaint))).not.toEqual([]);
  });
});
