import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { LastWords } from '../support/last-words.ts';
import { runCommand } from '../support/run-command.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/**
 * Hands over a good save of step 3 and an unsealable one of step 9, then reports that it is
 * finished.
 */
const FINISHES = `
import os
import holdfast
run = holdfast.attach()
run.resume(lambda _: None)
for step in range(10):
    run.step(step)
    if step in (3, 9):
        with run.save(step) as folder:
            (folder / "state").write_text("everything")
            if step == 9:
                os.mkfifo(folder / "pipe")
run.finish()`;

it('a finished run whose last save was lost reports this and names the unsaved steps', async () => {
  using folder = tempFolder();
  using words = new LastWords(folder.path);
  const dir = join(folder.path, 'run');
  const args = ['--dir', dir, '--every', '1h', '--termination-log', words.path];
  const { code, stderr } = await new Supervised({ args, command: ['python3', '-c', FINISHES] }).ended;
  expect(code).toBe(0);
  expect(stderr).toMatch(/warning: finished; the save of step 9 was lost: .*; the last good step is 3, 6 later ones are not saved/);
  const told = {
    exitCode: 0,
    end: 'finished',
    lastGoodStep: 3,
    lostSteps: 6,
    sentence: expect.stringContaining('step 9 was lost') as string,
  };
  expect(words.take().at(-1)).toMatchObject({ provisional: false, ...told });
  const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event] : []));
  expect(ends).toMatchObject([told]);
  expect(ends[0]?.lostMs).toBeGreaterThan(0);
  expect((await runCommand(['log', dir])).stdout).toContain('the save of step 9 was lost');
});
