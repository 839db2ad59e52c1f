import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/**
 * Signals one thread only. Two signals that wait for a stopped process merge into one, so the test
 * sends one to the process and one to its first thread.
 */
const TO_THREAD = 'import ctypes, sys; pid = int(sys.argv[1]); sys.exit(ctypes.CDLL(None).tgkill(pid, pid, 2))';

async function stopped(pid: number): Promise<void> {
  while (!/^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))) await new Promise((resolve) => setImmediate(resolve));
}

it.skipIf(process.platform !== 'linux')('one Ctrl-C that reaches the supervisor twice counts once: it makes the last save', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const run = new Supervised({ args: ['--dir', dir, '--every', '1h', '--grace', '60s'], command: trainerCommand('dies', 'sdk') });
  await run.line(/^ready/);
  // Both signals wait when the process continues, so they arrive together on any machine.
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

it('a second Ctrl-C ends the run without waiting for the grace', async () => {
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

it('SIGQUIT ends a run like SIGTERM: the trainer saves its unsaved steps first', async () => {
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

it('SIGUSR2 asks for a save like SIGUSR1, and the run continues', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const run = new Supervised({ args: ['--dir', dir, '--every', '1h'], command: trainerCommand('dies', 'sdk') });
  await run.line(/^ready/);
  run.signal('SIGUSR2');
  await run.line(/sealed step/);
  run.signal('SIGTERM');
  expect((await run.ended).code).toBe(143);
});
