import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WHOLE } from './support/fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { LAUNCHER, runProcess } from './support/run-process.ts';
import { MEMORY, tempFolder } from './support/temp-folder.ts';

/** Larger than any disk. */
const LINE = '8000TiB';
const TRAINER_RUN = join(WHOLE, 'hf-trainer-run/data/run');

/** A run with step 2 in its folder, and step 4 among its copies. */
async function shippedRun(): Promise<{ readonly older: string; readonly url: string; readonly fresh: string; [Symbol.dispose](): void }> {
  const folder = tempFolder(MEMORY);
  const [run, older, fresh] = ['run', 'older', 'fresh'].map((name) => join(folder.path, name)) as [string, string, string];
  const url = `file://${join(folder.path, 'copies')}`;
  cpSync(join(TRAINER_RUN, 'checkpoint-2'), join(run, 'checkpoint-2'), { recursive: true });
  await runCommand(['seal', join(run, 'checkpoint-2')]);
  cpSync(run, older, { recursive: true });
  cpSync(join(TRAINER_RUN, 'checkpoint-4'), join(run, 'checkpoint-4'), { recursive: true });
  await runCommand(['seal', join(run, 'checkpoint-4')]);
  expect((await runCommand(['ship', run, url])).code).toBe(0);
  return { older, url, fresh, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** The data entries in the folder of received files. */
function received(run: string): readonly string[] {
  const folder = join(run, '.holdfast/fetching');
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('data')) : [];
}

describe('a copy for which there is no room above the eviction line', () => {
  it('is refused by fetch before the first byte, with the numbers, and arrives once there is room', async () => {
    using run = await shippedRun();
    const env = { PATH: process.env['PATH'], HOLDFAST_EVICTION_LINE: LINE };
    const { code, stdout, stderr } = await runProcess(LAUNCHER, ['fetch', run.url, run.fresh], { env });
    expect({ code, stdout }).toEqual({ code: 73, stdout: '' });
    expect(stderr).toMatch(
      /^error SAVE_DOES_NOT_FIT: nothing was fetched into .*: the checkpoint needs .* eviction line .* are missing\n {2}\S/,
    );
    expect(received(run.fresh)).toEqual([]);
    expect((await runCommand(['fetch', run.url, run.fresh])).code).toBe(0);
  });

  const start = (dir: string, url: string) =>
    runProcess(LAUNCHER, [
      'run',
      '--metadata=off',
      `--dir=${dir}`,
      `--ship=${url}`,
      `--eviction-line=${LINE}`,
      '--',
      'sh',
      '-c',
      'echo "from $HOLDFAST_RESUME_STEP"',
    ]);

  it('is reported at the start of a run, which resumes from an older local one', async () => {
    using run = await shippedRun();
    const { code, stdout, stderr } = await start(run.older, run.url);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'from 2\n' });
    expect(stderr).toContain('holdfast: error SAVE_DOES_NOT_FIT: nothing was fetched into');
    expect(received(run.older)).toEqual([]);
  });

  it('keeps a run from starting at step 0', async () => {
    using run = await shippedRun();
    const { code, stdout, stderr } = await start(run.fresh, run.url);
    expect({ code, stdout }).toEqual({ code: 73, stdout: '' });
    expect(stderr).toContain('error SAVE_DOES_NOT_FIT: nothing was fetched into');
    expect(received(run.fresh)).toEqual([]);
  });
});
