import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { startAttempt } from '../checkpoint/store/attempt.ts';
import { beginSave } from '../checkpoint/store/save.ts';
import { openRun, type OpenStore } from '../checkpoint/store/store.ts';
import { realClock } from '../core/clock.ts';
import { SaveDesk } from './save-desk.ts';
import type { ToRank } from './sdk/protocol.ts';
import type { Rank } from './sdk/server.ts';
import { Sealer } from './sealing/sealer.ts';
import { makeImage } from './staging/image.ts';

let folder: ReturnType<typeof tempFolder>;
let store: OpenStore;
let sealer: Sealer;
let said: ToRank[];
let ends: string[];

beforeEach(() => {
  folder = tempFolder();
  const dir = join(folder.path, 'run');
  mkdirSync(dir);
  store = openRun(dir);
  sealer = new Sealer({ dir, clock: realClock });
  [said, ends] = [[], []];
});

afterEach(async () => {
  await sealer.close();
  folder[Symbol.dispose]();
});

function makeRank(rank: number): Rank {
  return { rank, world: 1, pid: process.pid, dumpSignal: null, send: (message) => void said.push(message) };
}

/** A desk whose saves lie in memory. */
async function makeDesk(rank: Rank): Promise<SaveDesk> {
  const attempt = await startAttempt(store, { gang: 'a' });
  return new SaveDesk({
    store,
    sealer,
    retention: null,
    participants: () => [rank],
    lost: () => [],
    way: {
      open: (step) => {
        const save = beginSave(store, attempt, { step, worldSize: 1 });
        const image = makeImage(join(folder.path, 'stage'), save, { ranks: 1, owner: null, dir: store.path });
        return Promise.resolve({ ...save, image });
      },
      seal: ({ image, ...save }, _, facts) => sealer.seal({ kind: 'seal', save, image: image?.data ?? null }, facts),
    },
    events: {
      onBegun: () => {},
      onHandedOver: () => {},
      onSealed: ({ name }) => void ends.push(name),
      onLost: (_, error, outcome) => void ends.push(`${outcome}: ${error.message}`),
      onDefect: (thrown) => void ends.push(String(thrown)),
    },
  });
}

/** The folder that the rank was given. */
async function given(): Promise<ToRank & { readonly type: 'folder' }> {
  for (;;) {
    const found = said.find((message) => message.type === 'folder');
    if (found !== undefined) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

// A thread takes long to start on a busy machine.
describe('a rank that goes away while it saves into memory', { timeout: 30_000 }, () => {
  it('has handed over when it left its mark, although its word was not heard', async () => {
    const rank = makeRank(0);
    const desk = await makeDesk(rank);
    desk.begin(rank, 5);
    const { path, mark } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    writeFileSync(mark ?? '', '');
    desk.gone(rank);
    expect(desk.phase).toBe('sealing');
    await desk.idle();
    expect(ends).toEqual(['step-5']);
  });

  it('has not when it left none', async () => {
    const rank = makeRank(0);
    const desk = await makeDesk(rank);
    desk.begin(rank, 5);
    const { path } = await given();
    writeFileSync(join(path, 'state'), 'half');
    desk.gone(rank);
    expect([desk.phase, ends]).toEqual(['idle', ['failed: rank 0 went away before it had written its part']]);
  });
});
