import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { RUNS } from '../support/marked-processes.ts';
import { LAUNCHER } from '../support/run-process.ts';
import { trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const ENV = { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1', HOLDFAST_METADATA: 'off', ...RUNS.env };

/**
 * Starts the rest of its arguments on a terminal of its own, closes the terminal once a line can be
 * read, and ends with the exit code of that command.
 */
const CLOSED_TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
while b'ready' not in os.read(terminal, 65536): pass
os.close(terminal)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

/** Prints one word and then nothing: a trainer that prints would die of the closed terminal. */
const SILENT = ['sh', '-c', 'echo ready; trap "exit 0" TERM HUP; while :; do sleep 0.1; done'];

const endsOf = (dir: string): readonly unknown[] =>
  readLedger(dir).events.flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event.exitCode] : []));

it.skipIf(process.platform !== 'linux')('a run that reported its end is finished, even if its output cannot be written', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const full = openSync('/dev/full', 'w');
  const silent = ['sh', '-c', '"$@" >/dev/null', 'sh', ...trainerCommand('exits', 'sdk', { steps: 5 })];
  const run = spawn(LAUNCHER, ['run', '--dir', dir, '--', ...silent], { env: ENV, stdio: ['ignore', full, 'ignore'] });
  closeSync(full);
  const [code] = await once(run, 'close');
  expect([code, endsOf(dir)]).toEqual([0, [0]]);
});

it.skipIf(process.platform !== 'linux')('a run whose terminal closes is interrupted, and its exit code shows it', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const run = spawn('python3', ['-c', CLOSED_TERMINAL, LAUNCHER, 'run', '--dir', dir, '--', ...SILENT], { env: ENV, stdio: 'ignore' });
  const [code] = await once(run, 'close');
  expect([code, endsOf(dir)]).toEqual([143, [143]]);
});
