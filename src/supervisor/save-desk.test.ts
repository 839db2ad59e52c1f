import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { startAttempt } from '../checkpoint/store/attempt.ts';
import { beginSave } from '../checkpoint/store/save.ts';
import { openRun, type OpenStore } from '../checkpoint/store/store.ts';
import { realClock } from '../core/clock.ts';
import { SaveDesk } from './save-desk.ts';
import type { SaveTimings } from './save-timings.ts';
import type { ToRank } from './sdk/protocol.ts';
import type { Rank } from './sdk/server.ts';
import { Sealer } from './sealing/sealer.ts';
import { makeImage } from './staging/image.ts';

const UNTOLD = { stallMs: null, waitedMs: 0, betweenMs: 0 };

let folder: ReturnType<typeof tempFolder>;
let store: OpenStore;
let sealer: Sealer;
let said: ToRank[];
let ends: string[];
/** What the desk did when each save was told as sealed. */
let phases: string[];
let whenSealed: () => void;
let timings: SaveTimings[];
let furthest: number | null;
/** What somebody else was told to expect. */
let announced: { readonly step: number; readonly isAwaited: () => boolean }[];

beforeEach(() => {
  folder = tempFolder();
  const dir = join(folder.path, 'run');
  mkdirSync(dir);
  store = openRun(dir);
  sealer = new Sealer({ dir, clock: realClock });
  [said, ends, phases, timings, furthest, announced] = [[], [], [], [], null, []];
  whenSealed = () => {};
});

afterEach(async () => {
  await sealer.close();
  folder[Symbol.dispose]();
});

function makeRank(rank: number, heard: ToRank[] = said): Rank {
  return { rank, world: 1, pid: process.pid, dumpSignal: null, send: (message) => void heard.push(message) };
}

/** A desk whose saves lie in memory. */
async function makeDesk(...ranks: Rank[]): Promise<SaveDesk> {
  const attempt = await startAttempt(store, { gang: 'a' });
  const desk: SaveDesk = new SaveDesk({
    store,
    sealer,
    retention: null,
    participants: () => ranks,
    lost: () => [],
    furthest: () => furthest,
    way: {
      expect: (step, { isAwaited }) => {
        announced.push({ step, isAwaited });
        return new Promise(() => {});
      },
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
      onSealed: ({ name }, times) => {
        timings.push(times);
        ends.push(name);
        phases.push(desk.phase);
        whenSealed();
      },
      onLost: (_, error, outcome) => void ends.push(`${outcome}: ${error.message}`),
      onDefect: (thrown) => void ends.push(String(thrown)),
    },
  });
  return desk;
}

/** The folder that the rank was given. */
async function given(heard = said): Promise<ToRank & { readonly type: 'folder' }> {
  for (;;) {
    const found = heard.find((message) => message.type === 'folder');
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

describe('the stall of a save', { timeout: 30_000 }, () => {
  it.each([
    ['is all the time until it is handed over', null, (writeMs: number) => writeMs],
    ['is what the rank says that it was, where it trained on meanwhile', 0, () => 0],
    ['is never more than that', 1e9, (writeMs: number) => writeMs],
  ])('%s', async (_, told, expected) => {
    const rank = makeRank(0);
    const desk = await makeDesk(rank);
    desk.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    desk.handOver(rank, save, { ...UNTOLD, stallMs: told });
    await desk.idle();
    const [{ stallMs, writeMs } = { stallMs: -1, writeMs: -1 }] = timings;
    expect(stallMs).toBe(expected(writeMs));
  });

  it('is that of the slowest rank', async () => {
    const ranks = [makeRank(0), makeRank(1, [])] as const;
    const desk = await makeDesk(...ranks);
    for (const rank of ranks) desk.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    desk.handOver(ranks[0], save, UNTOLD);
    desk.handOver(ranks[1], save, { ...UNTOLD, stallMs: 0 });
    await desk.idle();
    expect(timings).toMatchObject([{ step: 5, stallMs: expect.toSatisfy((ms: number) => ms > 0) as number }]);
  });
});

describe('the time that a save took to write', { timeout: 30_000 }, () => {
  it.each([
    ['is what it took the slowest rank, without its waiting for the others', [0, 1e9], (stallMs: number) => stallMs],
    ['is nothing where all that they did was wait', [1e9, 1e9], () => 0],
  ])('%s', async (_, waited, wanted) => {
    const ranks = [makeRank(0), makeRank(1, [])] as const;
    const desk = await makeDesk(...ranks);
    for (const rank of ranks) desk.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    desk.handOver(ranks[0], save, { ...UNTOLD, waitedMs: waited[0] ?? 0 });
    desk.handOver(ranks[1], save, { ...UNTOLD, stallMs: 0, waitedMs: waited[1] ?? 0 });
    await desk.idle();
    // The trainer stood still all the while, also while it waited.
    const [{ stallMs, writeMs } = { stallMs: -1, writeMs: -1 }] = timings;
    expect(stallMs).toBeGreaterThan(0);
    expect(writeMs).toBe(wanted(stallMs));
  });

  it('has nothing of what a rank did before it came to saving, nor has the stall', async () => {
    const rank = makeRank(0);
    const desk = await makeDesk(rank);
    desk.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    desk.handOver(rank, save, { ...UNTOLD, betweenMs: 1e9 });
    await desk.idle();
    expect(timings).toMatchObject([{ step: 5, writeMs: 0, stallMs: 0 }]);
  });
});

describe('whoever else has a part in a save', { timeout: 30_000 }, () => {
  it('hears once of the step that ranks wait for, also of one that waits until another is sealed, and until no rank does', async () => {
    const ranks = [makeRank(0), makeRank(1, [])] as const;
    const desk = await makeDesk(...ranks);
    desk.begin(ranks[0], 5);
    expect(announced.map(({ step, isAwaited }) => [step, isAwaited()])).toEqual([[5, true]]);
    desk.begin(ranks[1], 5);
    const { save, path } = await given();
    expect(announced[0]?.isAwaited()).toBe(false);
    writeFileSync(join(path, 'state'), 'everything');
    for (const rank of ranks) desk.handOver(rank, save, UNTOLD);
    for (const rank of ranks) desk.begin(rank, 6);
    expect(announced.map(({ step }) => step)).toEqual([5, 6]);
    expect(announced[1]?.isAwaited()).toBe(true);
    for (const rank of ranks) desk.gone(rank);
    expect(announced[1]?.isAwaited()).toBe(false);
    await desk.idle();
    expect(ends).toEqual(['step-5']);
  });
});

describe('who begins a save', { timeout: 30_000 }, () => {
  /** The desk, sealing step 5 of this rank. */
  async function sealing(rank: Rank): Promise<SaveDesk> {
    const desk = await makeDesk(rank);
    desk.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    said.length = 0;
    desk.handOver(rank, save, UNTOLD);
    return desk;
  }

  it('while another is being sealed waits, is no hang, and is given a folder afterwards', async () => {
    const rank = makeRank(0);
    const desk = await sealing(rank);
    expect(desk.isHolding).toBe(false);
    desk.begin(rank, 6);
    expect([desk.phase, desk.isHolding]).toEqual(['sealing', true]);
    expect((await given()).type).toBe('folder');
    expect([ends, phases]).toEqual([['step-5'], ['tidying']]);
    desk.abandon('the test is over');
  });

  it('while the disk does not answer is refused, as is who waits already, until it does', async () => {
    const rank = makeRank(0);
    const desk = await sealing(rank);
    expect(desk.waiting).toMatchObject({ kind: 'sealing', step: 5 });
    desk.begin(rank, 6);
    desk.refuseMeanwhile('the disk does not answer');
    desk.begin(rank, 7);
    const refused = [6, 7].map((step) => ({ type: 'refused', step, code: 'SEAL_OVERDUE', reason: 'the disk does not answer' }));
    expect([said, desk.isHolding]).toEqual([refused, false]);
    await desk.idle();
    expect([ends, desk.waiting]).toEqual([['step-5'], null]);
    said.length = 0;
    desk.refuseMeanwhile('nobody waits for it');
    desk.begin(rank, 8);
    expect((await given()).step).toBe(8);
    desk.abandon('the test is over');
  });

  it('when the disk has answered at last waits for what is left to do, and is not refused', async () => {
    const rank = makeRank(0);
    const desk = await sealing(rank);
    desk.refuseMeanwhile('the disk does not answer');
    whenSealed = () => desk.begin(rank, 6);
    expect((await given()).step).toBe(6);
    expect(phases).toEqual(['tidying']);
    desk.abandon('the test is over');
  });

  it('twice waits once', async () => {
    const rank = makeRank(0);
    const desk = await sealing(rank);
    for (let begun = 0; begun < 1000; begun++) desk.begin(rank, 6);
    expect(said.filter(({ type }) => type === 'refused')).toHaveLength(999);
    desk.abandon('the test is over');
  });

  it('without having written the one that it was given a folder for gets a new one, and the open one is given up', async () => {
    const rank = makeRank(0);
    const desk = await makeDesk(rank);
    desk.begin(rank, 5);
    await given();
    said.length = 0;
    desk.begin(rank, 6);
    expect((await given()).step).toBe(6);
    expect([desk.step, ends]).toEqual([6, ['failed: rank 0 has begun step 6 without having written step 5']]);
    desk.abandon('the test is over');
  });

  it('is refused once the desk is closed; what was handed over is sealed all the same', async () => {
    const rank = makeRank(0);
    const desk = await sealing(rank);
    desk.begin(rank, 6);
    desk.close('the trainer has ended');
    desk.begin(rank, 7);
    expect(said).toEqual([6, 7].map((step) => ({ type: 'refused', step, code: 'SAVE_INCOMPLETE', reason: 'the trainer has ended' })));
    await desk.idle();
    expect(ends).toEqual(['step-5']);
  });

  it('and was not here yet when the first did takes part; none is opened without the ones that were', async () => {
    const heard: ToRank[][] = [[], [], []];
    const ranks = heard.map((one, rank) => makeRank(rank, one));
    const [first, second, third] = ranks as [Rank, Rank, Rank];
    const desk = await makeDesk(first, second);
    desk.begin(first, 5);
    desk.begin(third, 5);
    expect(desk.phase).toBe('gathering');
    desk.begin(second, 5);
    await Promise.all(heard.map(given));
    desk.abandon('the test is over');
  });

  it('at a step that another has gone past is refused at once, without a word of loss: a later step is named', async () => {
    const heard: ToRank[][] = [[], []];
    const [first, second] = heard.map((one, rank) => makeRank(rank, one)) as [Rank, Rank];
    const desk = await makeDesk(first, second);
    desk.begin(first, 5);
    desk.late(second, 5);
    furthest = 6;
    desk.begin(first, 5);
    expect(heard[0]?.map(({ type }) => type)).toEqual(['refused', 'refused']);
    expect([desk.phase, ends]).toEqual(['idle', []]);
  });
});
