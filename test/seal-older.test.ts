import { cpSync, existsSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startAttempt } from '../src/store/attempt/attempt.ts';
import { openRun } from '../src/store/folder/store.ts';
import { WHOLE } from './support/fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempFolder } from './support/temp-folder.ts';

/**
 * A run of the real Hugging Face Trainer with checkpoints of steps 2, 4 and 6, of which these are
 * sealed; all were written an hour ago.
 */
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
  it('neither becomes the last good one nor displaces the newer one, however many attempts followed', async () => {
    using run = await looseRun(4);
    await startAttempt(openRun(run.path), { gang: 'a life that sealed nothing' });
    const { code, stderr } = await runCommand(['seal', run.of(2)]);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('a run resumes from checkpoint-4 (step 4), which is newer'),
    });
    expect(await run.resumes()).toBe(run.of(4));
    await runCommand(['prune', run.path, '--keep=1']);
    expect([existsSync(run.of(4)), existsSync(run.of(2))]).toEqual([true, false]);
  });

  it('stays behind the newer one even after a rollback that was undone', async () => {
    using run = await looseRun(4);
    await runCommand(['rollback', run.path, '--to=4']);
    await runCommand(['rollback', run.path, '--undo']);
    await runCommand(['seal', run.of(2)]);
    expect(await run.resumes()).toBe(run.of(4));
    await runCommand(['seal', run.of(6)]);
    expect(await run.resumes()).toBe(run.of(6));
  });

  it('stays behind a newer one in quarantine, which may be restored', async () => {
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

  it('is used by resume, with a report, if the attempt asks for it', async () => {
    using run = await looseRun(4);
    const { attempt } = await startAttempt(openRun(run.path), { gang: 'one that began again' });
    const { stderr } = await runCommand(['seal', run.of(2), `--attempt=${attempt}`]);
    expect(stderr).toContain('instead of checkpoint-4 (step 4)');
    expect(await run.resumes()).toBe(run.of(2));
  });
});

describe('a run that was rolled back', () => {
  it('stays rolled back when a newer step is sealed, until the rollback is undone', async () => {
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

  it('can still start fresh', async () => {
    using run = await looseRun(2);
    await runCommand(['rollback', run.path, '--fresh']);
    await runCommand(['seal', run.of(4)]);
    expect(await runCommand(['resume', run.path])).toMatchObject({ code: 3, stdout: '' });
  });

  it('resumes from checkpoints after the rollback, and reports it once', async () => {
    using run = await looseRun(2);
    await runCommand(['rollback', run.path, '--to=2']);
    for (const step of [4, 6]) run.written(step, -3600);
    expect((await runCommand(['seal', run.of(4)])).stderr).toContain('written after the run was rolled back');
    expect(await run.resumes()).toBe(run.of(4));
    expect((await runCommand(['seal', run.of(6)])).stderr).not.toContain('written after the run was rolled back');
    expect(await run.resumes()).toBe(run.of(6));
  });
});
