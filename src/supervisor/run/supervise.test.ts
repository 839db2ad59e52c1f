import { EventEmitter } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { makeRunOptions } from '../../../test/support/run-options.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock } from '../../core/clock.ts';
import { createRng } from '../../core/rng.ts';
import { parseLocation } from '../../remote/backends/location.ts';
import { readLedger } from '../../ledger/reader.ts';
import type { RunOptions } from '../settings/run-options.ts';
import { supervise } from './supervise.ts';

it('a signal that came before the supervisor could handle any ends the run before a trainer is started', async () => {
  using folder = tempFolder();
  const started = join(folder.path, 'started');
  const options = makeRunOptions(join(folder.path, 'run'), { command: ['touch', started], tmp: folder.path });
  const told: string[] = [];
  const say = (text: string): void => void told.push(text);
  const hub = new EventEmitter();
  const world = { clock: realClock, rng: createRng(1), hub, say, shout: say, cannotEnd: () => {} };
  expect(await supervise(options, { ...world, takeSignals: () => 'SIGTERM' })).toBe(143);
  expect([told[0], existsSync(started)]).toEqual(['notice: SIGTERM', false]);
  // A signal in the last moments is heard, and changes nothing.
  expect(hub.emit('SIGTERM')).toBe(true);
  expect(told).toHaveLength(1);
});

/** Runs a command that ends at once, with these settings; returns the lines printed for people. */
async function linesOf(dir: string, parts: Partial<RunOptions>): Promise<readonly string[]> {
  const lines: string[] = [];
  const say = (text: string): void => void lines.push(text);
  const options = { ...makeRunOptions(dir, { command: ['true'], tmp: dirname(dir) }), ...parts };
  const world = {
    clock: realClock,
    rng: createRng(1),
    hub: new EventEmitter(),
    say,
    shout: say,
    cannotEnd: () => {},
    takeSignals: () => null,
  };
  await supervise(options, world).catch((thrown: unknown) => lines.push(String(thrown)));
  return lines;
}

it('the ledger has the command with its secrets masked, and the trainer gets them as they are', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const file = join(folder.path, 'words');
  await linesOf(dir, {
    command: ['sh', '-c', `echo "$1 $2" > ${file}`, 'sh', '--api-key=hunter-two', 'told-by-env'],
    env: { PATH: process.env['PATH'], MY_TOKEN: 'told-by-env' },
  });
  expect(readFileSync(file, 'utf8')).toBe('--api-key=hunter-two told-by-env\n');
  const { events } = readLedger(dir);
  expect(JSON.stringify(events)).not.toMatch(/hunter-two|told-by-env/);
  expect(events.find(({ event }) => event.kind === 'attempt-started')?.event).toMatchObject({
    command: expect.arrayContaining(['--api-key=[redacted]']) as unknown,
  });
});

it('a start that waits for a silent store shows that on the status port, and gives up after its time limit', async () => {
  using folder = tempFolder();
  await using silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const location = parseLocation('s3://bucket/run');
  if (!location.ok) throw new Error(location.reason);
  const options: RunOptions = {
    ...makeRunOptions(join(folder.path, 'run'), { command: ['true'], tmp: folder.path }),
    status: { host: '127.0.0.1', port: 0 },
    ship: { location: location.value, limit: null, patienceMs: 6000 },
    env: {
      HOME: '/nonexistent',
      AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'key',
      PATH: process.env['PATH'],
    },
  };
  let seen: Promise<unknown> = Promise.resolve(null);
  const say = (text: string): void => {
    const address = /^status on (\S+)/.exec(text)?.[1];
    if (address !== undefined) seen = fetch(address).then((answer) => answer.json());
  };
  const world = {
    clock: realClock,
    rng: createRng(1),
    hub: new EventEmitter(),
    say,
    shout: say,
    cannotEnd: () => {},
    takeSignals: () => null,
  };
  await expect(supervise(options, world)).rejects.toMatchObject({ code: 'REMOTE_UNAVAILABLE', exitCode: 75 });
  expect(await seen).toMatchObject({ state: 'starting', waiting: { sentence: expect.stringContaining('s3://bucket/run') as string } });
  silent.closeAllConnections();
});

it('a place for saves that cannot be used is refused before a folder is made for the run', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const lines = await linesOf(dir, { stage: { kind: 'folder', path: '/nonexistent', from: 'option' } });
  expect(lines).toEqual([expect.stringContaining('option --stage: /nonexistent cannot be used: ENOENT')]);
  expect(existsSync(dir)).toBe(false);
});

it('a notice file whose folder is missing causes a warning at the start, and the run continues', async () => {
  using folder = tempFolder();
  const lines = await linesOf(join(folder.path, 'run'), { noticeFile: join(folder.path, 'info/annotations') });
  expect(lines[0]).toBe(
    `warning: --notice-file: the folder ${folder.path}/info does not exist: no notice is read from ${folder.path}/info/annotations until it does`,
  );
  expect(lines.at(-1)).toBe('finished: the trainer exited with 0');
});
