import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Signals one thread alone: two signals that wait for a process that was stopped would be one, and one for its first thread is another. */
const TO_THREAD = 'import ctypes, sys; pid = int(sys.argv[1]); sys.exit(ctypes.CDLL(None).tgkill(pid, pid, 2))';

async function stopped(pid: number): Promise<void> {
  while (!/^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))) await new Promise((resolve) => setImmediate(resolve));
}

it.skipIf(process.platform !== 'linux')('one Ctrl-C that is passed on twice is one: the last save is made', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const run = new Supervised({ args: ['--dir', dir, '--every', '1h', '--grace', '60s'], command: trainerCommand('dies', 'sdk') });
  await run.line(/^ready/);
  // Both are there when it goes on: as close to each other as can be, whatever else the machine does.
  run.signal('SIGSTOP');
  await stopped(run.pid);
  run.signal('SIGINT');
  execFileSync('python3', ['-c', TO_THREAD, String(run.pid)]);
  run.signal('SIGCONT');
  expect((await run.ended).code).toBe(143);
  const events = readLedger(dir).events.map(({ event }) => event);
  expect(events.filter(({ kind }) => kind === 'flush-ended')).toMatchObject([{ outcome: 'made' }]);
  expect(events.filter(({ kind }) => kind === 'notice')).toMatchObject([{ cause: 'ctrl-c' }]);
});

it('who presses Ctrl-C again does not wait for the grace', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const deaf = ['sh', '-c', "trap '' INT TERM; echo ready; while :; do sleep 1; done"];
  const run = new Supervised({ args: ['--dir', dir, '--grace', '1h'], command: deaf });
  await run.line(/^ready/);
  run.signal('SIGINT');
  await run.line(/notice: Ctrl-C/);
  await run.pressAgain();
  expect((await run.ended).stderr).toContain('the trainer still lives shortly before the deadline and is killed');
  const ends = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event] : []));
  expect(ends).toMatchObject([{ exitCode: 143, cause: 'ctrl-c' }]);
});

it('SIGQUIT ends a run as SIGTERM does: what is not saved yet is saved first', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const run = new Supervised({ args: ['--dir', dir, '--every', '1h', '--grace', '60s'], command: trainerCommand('dies', 'sdk') });
  await run.line(/^ready/);
  run.signal('SIGQUIT');
  const { code, stderr } = await run.ended;
  expect([code, stderr]).toEqual([143, expect.stringContaining('notice: SIGTERM (SIGQUIT)') as string]);
  expect(readLedger(dir).events.map(({ event }) => event)).toContainEqual(
    expect.objectContaining({ kind: 'flush-ended', outcome: 'made' }),
  );
});

it('SIGUSR2 asks for a save as SIGUSR1 does, and ends nothing', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const run = new Supervised({ args: ['--dir', dir, '--every', '1h'], command: trainerCommand('dies', 'sdk') });
  await run.line(/^ready/);
  run.signal('SIGUSR2');
  await run.line(/sealed step/);
  run.signal('SIGTERM');
  expect((await run.ended).code).toBe(143);
});
