import { cpSync, existsSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startAttempt } from '../src/checkpoint/store/attempt.ts';
import { openRun } from '../src/checkpoint/store/store.ts';
import { WHOLE } from './support/fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempFolder } from './support/temp-folder.ts';

/** A run of the real Hugging Face Trainer with checkpoints of steps 2, 4 and 6, of which these are sealed; all were written an hour ago. */
async function looseRun(...steps: readonly number[]) {
  const folder = tempFolder();
  const path = join(folder.path, 'run');
  cpSync(join(WHOLE, 'hf-trainer-run/data/run'), path, { recursive: true });
  const of = (step: number) => join(path, `checkpoint-${step}`);
  const written = (step: number, secondsAgo: number) => {
    const time = Date.now() / 1000 - secondsAgo;
    for (const name of readdirSync(of(step))) utimesSync(join(of(step), name), time, time);
  };
  for (const step of [2, 4, 6]) written(step, 3600);
  await runCommand(['seal', ...steps.map(of)]);
  const resumes = async () => (await runCommand(['resume', path])).stdout.trim();
  return { path, of, written, resumes, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

describe('an older step that is sealed late', () => {
  it('does not become the last good one, nor cost the newer one, however many attempts were started since', async () => {
    using run = await looseRun(4);
    await startAttempt(openRun(run.path), { gang: 'a life that sealed nothing' });
    const { code, stderr } = await runCommand(['seal', run.of(2)]);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('checkpoint-4 of step 4 is newer') });
    expect(await run.resumes()).toBe(run.of(4));
    await runCommand(['prune', run.path, '--keep=1']);
    expect([existsSync(run.of(4)), existsSync(run.of(2))]).toEqual([true, false]);
  });

  it('stays behind the newer one also after a rollback that was taken back', async () => {
    using run = await looseRun(4);
    await runCommand(['rollback', run.path, '--to=4']);
    await runCommand(['rollback', run.path, '--undo']);
    await runCommand(['seal', run.of(2)]);
    expect(await run.resumes()).toBe(run.of(4));
    await runCommand(['seal', run.of(6)]);
    expect(await run.resumes()).toBe(run.of(6));
  });

  it('stays behind one that lies in quarantine, for when that comes back', async () => {
    using run = await looseRun(4);
    const file = join(run.of(4), 'trainer_state.json');
    cpSync(file, join(run.path, '.kept'));
    cpSync(join(run.of(4), 'config.json'), file);
    await runCommand(['resume', run.path]);
    await startAttempt(openRun(run.path), { gang: 'a life that sealed nothing' });
    await runCommand(['seal', run.of(2)]);
    expect(await run.resumes()).toBe(run.of(2));
    await runCommand(['quarantine', run.path, '--restore=checkpoint-4']);
    cpSync(join(run.path, '.kept'), file);
    expect(await run.resumes()).toBe(run.of(4));
  });

  it('is what a run resumes from where that is asked for by the attempt, and that is told', async () => {
    using run = await looseRun(4);
    const { attempt } = await startAttempt(openRun(run.path), { gang: 'one that began again' });
    const { stderr } = await runCommand(['seal', run.of(2), `--attempt=${attempt}`]);
    expect(stderr).toContain('not from checkpoint-4 of step 4');
    expect(await run.resumes()).toBe(run.of(2));
  });
});

describe('a run that was rolled back', () => {
  it('stays so when what it was rolled back from is sealed, until that is taken back', async () => {
    using run = await looseRun(2);
    await runCommand(['rollback', run.path, '--to=2']);
    const { code, stderr } = await runCommand(['seal', run.of(4), run.of(6)]);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('before the run was rolled back to step 2') });
    expect(await run.resumes()).toBe(run.of(2));
    await runCommand(['prune', run.path, '--keep=1']);
    expect([2, 4, 6].filter((step) => existsSync(run.of(step)))).toEqual([2, 4, 6]);
    await runCommand(['rollback', run.path, '--undo']);
    expect(await run.resumes()).toBe(run.of(6));
  });

  it('starts fresh all the same', async () => {
    using run = await looseRun(2);
    await runCommand(['rollback', run.path, '--fresh']);
    await runCommand(['seal', run.of(4)]);
    expect(await runCommand(['resume', run.path])).toMatchObject({ code: 3, stdout: '' });
  });

  it('goes on with what was written since, which is told once', async () => {
    using run = await looseRun(2);
    await runCommand(['rollback', run.path, '--to=2']);
    for (const step of [4, 6]) run.written(step, -3600);
    expect((await runCommand(['seal', run.of(4)])).stderr).toContain('written since');
    expect(await run.resumes()).toBe(run.of(4));
    expect((await runCommand(['seal', run.of(6)])).stderr).not.toContain('written since');
    expect(await run.resumes()).toBe(run.of(6));
  });
});
