import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { openRun } from '../../store/folder/store.ts';
import { VirtualClock } from '../../core/clock.ts';
import type { SaveStrategy } from './open-save.ts';
import type { Rank } from '../sdk/sdk-server.ts';
import { Sealer } from './sealing/sealer.ts';
import { saveTogether } from './together.ts';

const STEP = 7;
const MINUTE = 60_000;

let folder: ReturnType<typeof tempFolder>;
let clock: VirtualClock;
let sealer: Sealer;
let stop: AbortController;

beforeEach(() => {
  folder = tempFolder();
  mkdirSync(join(folder.path, 'run'));
  clock = new VirtualClock();
  sealer = new Sealer({ dir: join(folder.path, 'run'), clock });
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await sealer.close();
  folder[Symbol.dispose]();
});

/** How one of two nodes opens its saves. */
async function makeNode(nodeRank: number): Promise<SaveStrategy> {
  const store = openRun(join(folder.path, 'run'), { clock });
  const attempt = await startAttempt(store, { gang: 'g' });
  return saveTogether({ store, attempt, gang: { id: 'job', nodes: 2, nodeRank }, retention: null, env: {}, sealer });
}

const ranksOf = (rank: number): readonly Rank[] => [{ rank, world: 2, pid: process.pid, dumpSignal: null, send: () => {} }];

/** Begins a save on the second node, and returns its state so far. */
function follow(way: SaveStrategy): () => string {
  let outcome = 'waits';
  way.open(STEP, ranksOf(1), stop.signal).then(
    ({ step }) => (outcome = `opened step ${step}`),
    (thrown: unknown) => (outcome = String(thrown)),
  );
  return () => outcome;
}

describe('a node that begins a save before the first node', () => {
  it('waits for as long as the first node reports that its ranks wait too', async () => {
    const [first, second] = [await makeNode(0), await makeNode(1)];
    let isAwaited = true;
    const shown = first.expect?.(STEP, { isAwaited: () => isAwaited, signal: stop.signal });
    const outcome = follow(second);
    for (let minutes = 0; minutes < 10; minutes++) await clock.advance(MINUTE);
    expect(outcome()).toBe('waits');
    await first.open(STEP, ranksOf(0), stop.signal);
    isAwaited = false;
    await clock.advance(MINUTE);
    expect(outcome()).toBe(`opened step ${STEP}`);
    await shown;
  });

  it('abandons the save a minute after the last sign from the first node, or without any sign', async () => {
    const [first, second] = [await makeNode(0), await makeNode(1)];
    const died = new AbortController();
    const shown = first.expect?.(STEP, { isAwaited: () => true, signal: died.signal });
    const outcome = follow(second);
    await clock.advance(3 * MINUTE);
    expect(outcome()).toBe('waits');
    died.abort(new Error('killed'));
    await expect(shown).rejects.toThrow('killed');
    await clock.advance(2 * MINUTE);
    expect(outcome()).toContain(`the first node did not reach step ${STEP} in time`);
    const again = follow(second);
    // The last sign of the dead node is read once more.
    await clock.advance(2 * MINUTE + 1000);
    expect(again()).toContain('did not reach');
  });

  it('does not wait when the first node reports another step', async () => {
    const [first, second] = [await makeNode(0), await makeNode(1)];
    first.expect?.(STEP + 1, { isAwaited: () => true, signal: stop.signal }).catch(() => {});
    const outcome = follow(second);
    await clock.advance(MINUTE + 1000);
    expect(outcome()).toContain('did not reach');
  });

  it('stops waiting when the time for the save is over', async () => {
    const [first, second] = [await makeNode(0), await makeNode(1)];
    first.expect?.(STEP, { isAwaited: () => true, signal: stop.signal }).catch(() => {});
    const outcome = follow(second);
    await clock.advance(3 * MINUTE);
    stop.abort(new Error('there was no time left for the save'));
    await clock.advance(1);
    expect(outcome()).toContain('no time left');
  });
});
