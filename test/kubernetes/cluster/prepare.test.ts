import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../support/temp-folder.ts';
import { prepare } from './prepare.ts';
import { identify, isThere } from './process-start.ts';
import { eventually } from './wait.ts';

it.each([
  ['nothing when it succeeds', 'echo said >&2', null],
  ['its last line when it fails', 'echo "this machine lacks: go" >&2; echo >&2; exit 1', 'this machine lacks: go'],
  ['its exit code when it fails without a word', 'exit 3', 'sh ended with 3'],
])('a script that makes something ready gives %s', async (_, line, reason) => {
  expect(await prepare(['sh', '-c', line])).toBe(reason);
});

it('a script that is not there is named', async () => {
  expect(await prepare(['/nowhere/setup.sh'])).toMatch(/^\/nowhere\/setup\.sh cannot be run: .*ENOENT/);
});

it('a script that is called off is gone with all that it has started', async () => {
  using folder = tempFolder();
  const file = join(folder.path, 'pids');
  const stop = new AbortController();
  // The shell waits for what it has started, as one that builds does.
  const prepared = prepare(['sh', '-c', `sh -c 'echo $$ $PPID > ${file}.new; mv ${file}.new ${file}; exec sleep 1000'; true`], stop.signal);
  await eventually('its start', () => (existsSync(file) ? true : null));
  const started = readFileSync(file, 'utf8').trim().split(' ').map(Number).map(identify);
  expect(started.every(isThere)).toBe(true);
  stop.abort(new Error('SIGINT came'));
  await expect(prepared).rejects.toThrow('SIGINT came');
  await eventually('their end', () => (started.some(isThere) ? null : true));
});

it('a script is not begun after it was called off', async () => {
  await expect(prepare(['/nowhere/setup.sh'], AbortSignal.abort(new Error('SIGINT came')))).rejects.toThrow('SIGINT came');
});
