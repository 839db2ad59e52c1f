import { cpSync, mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startAttempt } from '../src/store/attempt/attempt.ts';
import { lastGood } from '../src/store/resume/last-good.ts';
import { prune } from '../src/store/retention/prune.ts';
import { openRun } from '../src/store/folder/store.ts';
import { VirtualClock } from '../src/core/clock.ts';
import { WHOLE } from './support/fixtures.ts';
import { LAUNCHER, runProcess } from './support/run-process.ts';
import { seal, sealSteps, testRun } from './support/sealed-run.ts';
import { tempFolder } from './support/temp-folder.ts';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const DECADE = 10 * 365 * 24 * 3_600_000;

describe('a clock that jumped back', () => {
  it('does not change the order of checkpoints: by attempt, then by step', async () => {
    using run = testRun({ clock: new VirtualClock(NOW) });
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    const jumped = { ...run.store, clock: new VirtualClock(NOW - DECADE) };
    await seal(jumped, attempt, { step: 3 });
    expect((await lastGood(jumped)).checkpoint?.name).toBe('step-3');
    const next = await startAttempt({ ...jumped, clock: new VirtualClock(NOW - 2 * DECADE) }, { gang: 'h' });
    await seal(jumped, next, { step: 1 });
    expect((await lastGood(jumped)).checkpoint?.name).toBe('step-1-a2');
    const { removed } = await prune(jumped, { retention: { last: 2, every: null, withinMs: null } });
    expect(removed.map(({ name }) => name)).toEqual(['step-1', 'step-2']);
  });

  it('deletes no file whose time lies in the future', async () => {
    using run = testRun({ clock: new VirtualClock(NOW) });
    await sealSteps(run.store, 'g', 1, 2, 3);
    const jumped = { ...run.store, clock: new VirtualClock(NOW - DECADE) };
    expect((await prune(jumped, { retention: { last: 1, every: null, withinMs: 1000 } })).removed).toEqual([]);
  });

  it('does not keep a newer attempt from starting and fencing the older one', async () => {
    using run = testRun({ clock: new VirtualClock(NOW) });
    const old = await sealSteps(run.store, 'old', 5);
    const jumped = { ...run.store, clock: new VirtualClock(NOW - DECADE) };
    const young = await startAttempt(jumped, { gang: 'young' });
    await expect(seal(run.store, old, { step: 6 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
    await seal(jumped, young, { step: 1 });
    expect((await lastGood(run.store)).checkpoint?.manifest).toMatchObject({ attempt: 2, step: 1 });
  });

  it('does not affect real commands on files and seals with later times', async () => {
    using folder = tempFolder();
    const run = join(folder.path, 'run');
    mkdirSync(run);
    const later = new Date(Date.now() + DECADE);
    await sealSteps(openRun(run, { clock: new VirtualClock(later.getTime()) }), 'g', 1, 2);
    for (const name of ['step-1/shard-0', 'step-2/shard-0', 'step-2', 'step-1']) utimesSync(join(run, name), later, later);
    cpSync(join(WHOLE, 'hf-trainer-run/data/run/checkpoint-6'), join(run, 'checkpoint-6'), { recursive: true });
    const holdfast = (...args: readonly string[]) => runProcess(LAUNCHER, args);
    expect(await holdfast('seal', join(run, 'checkpoint-6'))).toMatchObject({ code: 0 });
    expect(await holdfast('resume', run)).toMatchObject({ code: 0, stdout: `${join(run, 'checkpoint-6')}\n`, stderr: '' });
    const { stdout } = await holdfast('ls', run);
    expect(stdout.match(/(checkpoint-6|step-\d)(?= |$)/gm)).toEqual(['checkpoint-6', 'step-2', 'step-1']);
    expect(await holdfast('prune', run, '--keep=2')).toMatchObject({ code: 0 });
    expect(readdirSync(run)).toEqual(['.holdfast', 'checkpoint-6', 'step-2']);
  });
});
