import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Supervised, trainerCommand, whyNoNamespace } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** As a script without job control starts what stands before `&`; it stays the same process. */
const IN_BACKGROUND = ['sh', '-c', `trap '' INT QUIT; exec "$@"`, 'sh'];

/** What a run that was started like this makes of these signals, of a wish for a save, and of SIGTERM. */
async function hears(within: readonly string[], signals: readonly NodeJS.Signals[], isFirst: boolean) {
  using folder = tempFolder();
  const args = ['--dir', join(folder.path, 'run'), '--every', '1h'];
  const run = new Supervised({ args, command: trainerCommand('dies', 'sdk'), within, isFirst });
  await run.line(/^ready/);
  for (const signal of signals) run.signal(signal);
  // Signals come in the order of their numbers, and this has the highest: when it is answered, the others have been heard.
  run.signal('SIGUSR1');
  await run.line(/sealed step/);
  run.signal('SIGTERM');
  const { code, stderr } = await run.ended;
  return { code, notices: stderr.match(/notice: .*/g) };
}

describe('a run that was started to ignore signals', () => {
  const heard = { code: 143, notices: ['notice: a save was asked for', 'notice: SIGTERM'] };

  it('with nohup does not end when the terminal is closed, and does when it is told to', async () => {
    expect(await hears(['nohup'], ['SIGHUP'], false)).toEqual(heard);
  });

  it('with & in a script does not end when somebody presses Ctrl-C for the script, and does when it is told to', async () => {
    expect(await hears(IN_BACKGROUND, ['SIGINT', 'SIGQUIT'], false)).toEqual(heard);
  });

  it.skipIf(whyNoNamespace() !== null)('is the same as the first process of a container', async () => {
    expect(await hears(['nohup'], ['SIGHUP'], true)).toEqual(heard);
  });

  it('does not tell its trainer', async () => {
    using folder = tempFolder();
    const command = ['sh', '-c', 'echo "[${HOLDFAST_IGNORED_SIGNALS-}]"'];
    const { stdout } = await new Supervised({ args: ['--dir', join(folder.path, 'run')], command, within: ['nohup'] }).ended;
    expect(stdout).toBe('[]');
  });
});
