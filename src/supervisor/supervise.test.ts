import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeRunOptions } from '../../test/support/run-options.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { realClock } from '../core/clock.ts';
import { createRng } from '../core/rng.ts';
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
