import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rollBack } from '../../src/store/attempt/roll-back.ts';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { openRun, readRun } from '../../src/store/folder/store.ts';
import { LastWords } from '../support/last-words.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Saves step 3 of 10; `finish` saves the last step. */
const trainer = (finish: string): string[] => [
  'python3',
  '-c',
  `
import holdfast
run = holdfast.attach()
start = run.resume(lambda _: None)
print("start", start, flush=True)
for step in range(start, 10):
    run.step(step)
    if step == 3:
        with run.save(step) as folder:
            (folder / "state").write_text("everything")
def write(folder):
    (folder / "state").write_text("the end")
${finish}`,
];

const run = (dir: string, finish: string, ...more: string[]): Supervised =>
  new Supervised({ args: ['--dir', dir, '--every', '1h', ...more], command: trainer(finish) });
const goodStep = async (dir: string): Promise<number | undefined> => (await lastGood(readRun(dir))).checkpoint?.manifest.step;

describe('a run that finished through the SDK', () => {
  it('starts no trainer when its command runs again, and continues training with --again', async () => {
    using folder = tempFolder();
    using words = new LastWords(folder.path);
    const dir = join(folder.path, 'run');
    const finish = 'run.finish()';
    expect((await run(dir, finish).ended).stdout).toBe('start 0');
    const again = await run(dir, finish, '--termination-log', words.path).ended;
    expect(again).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('Already finished at step 9; nothing to do') as string,
    });
    expect(words.take().at(-1)).toMatchObject({ exitCode: 0, end: 'finished', sentence: 'Already finished at step 9; nothing to do' });
    // A third start does not train either, and neither does a different command.
    expect((await run(dir, finish).ended).stdout).toBe('');
    expect((await run(dir, `${finish} # longer`).ended).stdout).toBe('start 4');
    expect((await run(dir, `${finish} # longer`, '--again').ended).stdout).toBe('start 4');
  });

  it('counts as finished although the ledger masks a secret argument of its command', async () => {
    using folder = tempFolder();
    const args = ['--dir', join(folder.path, 'run'), '--every', '1h'];
    const command = [...trainer('run.finish()'), '--api-key=sk-not-a-real-key-0123456789'];
    expect((await new Supervised({ args, command }).ended).stdout).toBe('start 0');
    expect((await new Supervised({ args, command }).ended).stdout).toBe('');
  });

  it('trains again after a rollback', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    await run(dir, 'run.finish()').ended;
    await rollBack(openRun(dir), null);
    expect((await run(dir, 'run.finish()').ended).stdout).toBe('start 0');
  });

  it('seals its last step if the last save was older, unless an option forbids it', async () => {
    using folder = tempFolder();
    for (const [finish, step] of [
      ['run.finish(save=write)', 9],
      ['run.finish(save=False)', 3],
      ['run.finish()', 3],
    ] as const) {
      const dir = join(folder.path, `${step}-${finish.length}`);
      expect((await run(dir, finish).ended).code).toBe(0);
      expect([finish, await goodStep(dir)]).toEqual([finish, step]);
    }
  });
});
