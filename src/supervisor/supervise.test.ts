import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { makeRunOptions } from '../../test/support/run-options.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { realClock } from '../core/clock.ts';
import { createRng } from '../core/rng.ts';
import type { RunOptions } from './options.ts';
import { supervise } from './supervise.ts';

it('a signal that came before the supervisor heard any ends the run before a trainer is started', async () => {
  using folder = tempFolder();
  const started = join(folder.path, 'started');
  const options = makeRunOptions(join(folder.path, 'run'), { command: ['touch', started], tmp: folder.path });
  const told: string[] = [];
  const say = (text: string): void => void told.push(text);
  const hub = new EventEmitter();
  const world = { clock: realClock, rng: createRng(1), hub, say, shout: say, cannotEnd: () => {} };
  expect(await supervise(options, { ...world, takeSignals: () => 'SIGTERM' })).toBe(143);
  expect([told[0], existsSync(started)]).toEqual(['notice: SIGTERM', false]);
  // Who comes in the last moments is heard, and changes nothing.
  expect(hub.emit('SIGTERM')).toBe(true);
  expect(told).toHaveLength(1);
});

/** A run of a command that ends at once, told something; what people are told. */
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

it('a place for saves that cannot be used is refused before a folder is made for the run', async () => {
  using folder = tempFolder();
  const dir = join(folder.path, 'run');
  const lines = await linesOf(dir, { stage: { kind: 'folder', path: '/nonexistent', from: 'option' } });
  expect(lines).toEqual([expect.stringContaining('option --stage: /nonexistent cannot be used: ENOENT')]);
  expect(existsSync(dir)).toBe(false);
});

it('a file for notices whose folder is not there is named at the start, and the run goes on', async () => {
  using folder = tempFolder();
  const lines = await linesOf(join(folder.path, 'run'), { noticeFile: join(folder.path, 'info/annotations') });
  expect(lines[0]).toBe(
    `warning: --notice-file: the folder ${folder.path}/info does not exist: nothing is heard from ${folder.path}/info/annotations until it does`,
  );
  expect(lines.at(-1)).toBe('finished: the trainer exited with 0');
});
