import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WHOLE } from './support/fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempFolder } from './support/temp-folder.ts';

/**
 * Two runs, each with a sealed checkpoint. The second run's checkpoint is also in the folder of the
 * first.
 */
async function twoRuns() {
  const folder = tempFolder();
  const path = join(folder.path, 'run');
  const other = join(folder.path, 'other');
  for (const [run, step] of [
    [path, 4],
    [other, 6],
  ] as const) {
    cpSync(join(WHOLE, `hf-trainer-run/data/run/checkpoint-${step}`), join(run, `checkpoint-${step}`), { recursive: true });
    await runCommand(['seal', join(run, `checkpoint-${step}`)]);
  }
  renameSync(join(other, 'checkpoint-6'), join(path, 'checkpoint-6'));
  return { path, other, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

describe('a folder with sealed checkpoints of two runs', () => {
  it('belongs to the run that it names; the other checkpoints are reported and left alone', async () => {
    using run = await twoRuns();
    const { code, stdout, stderr } = await runCommand(['resume', run.path]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(run.path, 'checkpoint-4')}\n` });
    expect(stderr).toContain('1 checkpoint of another run was left alone');
  });

  it('that names no run starts nothing at step 0, and gets no third identity', async () => {
    using run = await twoRuns();
    rmSync(join(run.path, '.holdfast'), { recursive: true });
    const resumed = await runCommand(['resume', run.path]);
    expect(resumed).toMatchObject({ code: 1, stdout: '' });
    expect(resumed.stderr).toContain('checkpoints of several runs are sealed here');
    expect((await runCommand(['ls', run.path])).stdout).toContain('it is unknown which run owns the folder');
    for (const args of [
      ['run', `--dir=${run.path}`, '--', process.execPath, '-e', '0'],
      ['rollback', run.path, '--fresh'],
      ['prune', run.path, '--keep=1'],
    ]) {
      const { code, stderr } = await runCommand(args);
      expect({ args, code, stderr }).toMatchObject({ stderr: expect.stringContaining('holds sealed checkpoints of 2 runs') });
      expect(code).not.toBe(0);
    }
    expect(readdirSync(run.path).sort()).toEqual(['checkpoint-4', 'checkpoint-6']);
    renameSync(join(run.path, 'checkpoint-6'), join(run.other, 'checkpoint-6'));
    expect((await runCommand(['resume', run.path])).stdout).toBe(`${join(run.path, 'checkpoint-4')}\n`);
  });
});

describe('a run that was rolled back to start fresh', () => {
  it('gets a report of the rollback from prune, and no claim that its checkpoints are bad', async () => {
    using run = await twoRuns();
    await runCommand(['rollback', run.path, '--fresh']);
    const { stderr } = await runCommand(['prune', run.path, '--keep=1']);
    expect(stderr).toContain('rolled back from every checkpoint here');
    expect(stderr).not.toContain('is good');
    expect(existsSync(join(run.path, 'checkpoint-4'))).toBe(true);
  });
});

describe('a pin', () => {
  it('is removed by name or by step, and the path of the checkpoint is printed', async () => {
    using run = await twoRuns();
    const path = join(run.path, 'checkpoint-4');
    expect((await runCommand(['pin', join(run.path, '4')])).stdout).toBe(`pinned  ${path}\n`);
    expect((await runCommand(['unpin', join(run.path, '4')])).stdout).toBe(`unpinned  ${path}\n`);
    expect((await runCommand(['unpin', path])).stdout).toBe(`was not pinned  ${path}\n`);
  });

  it('that does not exist cannot be removed', async () => {
    using run = await twoRuns();
    expect(await runCommand(['unpin', join(run.path, 'zzz')])).toMatchObject({ code: 66, stderr: expect.stringContaining('NOT_SEALED') });
  });

  it('is removed even when its checkpoint is gone', async () => {
    using run = await twoRuns();
    const path = join(run.path, 'checkpoint-4');
    await runCommand(['pin', path]);
    rmSync(path, { recursive: true });
    expect((await runCommand(['unpin', path])).stdout).toBe(`unpinned  ${path}\n`);
  });
});
