import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const hangsOf = (run: string): readonly string[] =>
  readLedger(run).events.flatMap(({ event }) => (event.kind === 'hang' ? [event.sentence] : []));

describe('a trainer that hangs', () => {
  it('shows the stacks of its threads, is reported once, and keeps running', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    // Longer than a busy machine takes for the first steps.
    const run = new Supervised({ args: ['--dir', dir, '--hang', '3s', '--grace', '3s'], command: trainerCommand('hangs', 'sdk') });
    // The trainer prints its stack to its own standard error.
    await run.line(/most recent call first/);
    await run.line(/File ".*trainer\.py", line \d+ in wait_for_ever/);
    await run.line(/warning: the trainer seems to hang: no step for .*; one rank was asked for the stacks of all threads/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect(hangsOf(dir)).toHaveLength(1);
  });

  it('is killed and restarted if the option asks for it, within the limit for errors', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const args = ['--dir', dir, '--hang', '1s', '--on-hang', 'restart', '--restarts', '1'];
    const { code, stdout, stderr } = await new Supervised({ args, command: trainerCommand('hangs', 'sdk') }).ended;
    expect([code, stdout.match(/^start/gm)?.length, hangsOf(dir).length]).toEqual([137, 2, 2]);
    expect(stderr.match(/(?<=the trainer hangs and is killed, ).*/g)).toEqual([
      'to be started again from the last good checkpoint',
      'and not started again: no restart is left (--restarts)',
    ]);
  });

  it('after it reported that the run is finished is ended if the option asks for it, and the run stays finished', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    // Longer than a busy machine takes for a step.
    const args = ['--dir', dir, '--hang', '5s', '--on-hang', 'restart', '--restarts', '1'];
    const { code, stdout, stderr } = await new Supervised({ args, command: trainerCommand('lingers', 'sdk', { steps: 20 }) }).ended;
    expect([code, stdout.match(/^start/gm)?.length, hangsOf(dir)]).toEqual([
      0,
      1,
      [expect.stringMatching(/^it has not ended for .* since it said that the run is finished; one rank was asked/)],
    ]);
    expect(stderr).toContain('the trainer reported the end of the run and then hung; Holdfast ends it, and the run is finished');
    const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event] : []));
    expect(ends).toMatchObject([{ exitCode: 0, end: 'finished' }]);
  });

  it('is not detected without the SDK, which reports the steps', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const command = ['python3', '-c', 'import time; time.sleep(2.5); print("done")'];
    expect(await new Supervised({ args: ['--dir', dir, '--hang', '100ms'], command }).ended).toMatchObject({ code: 0, stdout: 'done' });
    expect(hangsOf(dir)).toEqual([]);
  });
});
