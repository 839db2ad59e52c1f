import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const end = (dir: string, command: readonly string[], ...args: readonly string[]) =>
  new Supervised({ args: ['--dir', dir, '--every=10steps', ...args], command }).ended;

it('a different script in the folder of a run gets one warning that names the owner of the checkpoint, and continues', async () => {
  using folder = tempFolder();
  const [dir, other] = [join(folder.path, 'run'), join(folder.path, 'other.py')];
  const command = trainerCommand('dies', 'sdk', { steps: 15 });
  const [python = '', script = '', ...rest] = command;
  cpSync(script, other);
  const told = (stderr: string): string | undefined => /warning: (attempt .* in this folder ran .*)/.exec(stderr)?.[1];
  expect(told((await end(dir, command)).stderr)).toBeUndefined();
  expect(told((await end(dir, [python, '-u', script, ...rest], '--grace=20s')).stderr)).toBeUndefined();
  const second = await end(dir, [python, other, ...rest]);
  const sentence = `attempt 2 in this folder ran ${script}, but this one runs ${other} and resumes from step 10 of that run; give a different run its own folder: --dir=FOLDER`;
  expect([second.code, told(second.stderr)]).toEqual([0, sentence]);
  expect(told((await end(dir, [python, other, ...rest])).stderr)).toBeUndefined();
  const notes = readLedger(dir).events.flatMap(({ attempt, event }) => (event.kind === 'note' ? [[attempt, event.sentence]] : []));
  expect(notes).toContainEqual([3, sentence]);
});

it('the save interval is printed when a rank attaches, and not before', async () => {
  using folder = tempFolder();
  const silent = await end(join(folder.path, 'silent'), ['true']);
  expect([silent.code, silent.stderr]).toEqual([0, expect.not.stringContaining('saves every')]);
  const { stderr } = await end(join(folder.path, 'speaks'), trainerCommand('dies', 'sdk', { steps: 5 }));
  expect(stderr).toMatch(/the trainer has attached; .*\n(.*\n)*.*saves every 10 steps, as asked/);
});
