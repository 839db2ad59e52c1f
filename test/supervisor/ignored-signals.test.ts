import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Supervised, trainerCommand, whyNoNamespace } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/**
 * A script without job control starts a command before `&` like this. The process stays the same.
 */
const IN_BACKGROUND = ['sh', '-c', `trap '' INT QUIT; exec "$@"`, 'sh'];

/**
 * Sends these signals, a request for a save and SIGTERM to a run that was started like this, and
 * returns the outcome.
 */
async function hears(within: readonly string[], signals: readonly NodeJS.Signals[], isFirst: boolean) {
  using folder = tempFolder();
  const args = ['--dir', join(folder.path, 'run'), '--every', '1h'];
  const run = new Supervised({ args, command: trainerCommand('dies', 'sdk'), within, isFirst });
  await run.line(/^ready/);
  for (const signal of signals) run.signal(signal);
  // The kernel delivers signals in the order of their numbers. This one has the highest, so its
  // answer shows that the run has seen the others.
  run.signal('SIGUSR1');
  await run.line(/sealed step/);
  run.signal('SIGTERM');
  const { code, stderr } = await run.ended;
  return { code, notices: stderr.match(/notice: .*/g) };
}

describe('a run that was started to ignore signals', () => {
  const heard = { code: 143, notices: ['notice: a save was asked for', 'notice: SIGTERM'] };

  it('with nohup continues when the terminal closes, and ends at SIGTERM', async () => {
    expect(await hears(['nohup'], ['SIGHUP'], false)).toEqual(heard);
  });

  it('with & in a script continues when Ctrl-C ends the script, and ends at SIGTERM', async () => {
    expect(await hears(IN_BACKGROUND, ['SIGINT', 'SIGQUIT'], false)).toEqual(heard);
  });

  it.skipIf(whyNoNamespace() !== null)('behaves the same as the first process of a container', async () => {
    expect(await hears(['nohup'], ['SIGHUP'], true)).toEqual(heard);
  });

  it('does not pass the ignored signals to its trainer', async () => {
    using folder = tempFolder();
    const command = ['sh', '-c', 'echo "[${HOLDFAST_IGNORED_SIGNALS-}]"'];
    const { stdout } = await new Supervised({ args: ['--dir', join(folder.path, 'run')], command, within: ['nohup'] }).ended;
    expect(stdout).toBe('[]');
  });
});
