import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { beginSave } from '../../store/commit/save.ts';
import { openRun, type OpenStore } from '../../store/folder/store.ts';
import { realClock } from '../../core/clock.ts';
import { ownSave } from './alone.ts';
import { SaveCoordinator } from './save-coordinator.ts';
import type { SaveTimings } from './save-timings.ts';
import type { ToRank } from '../sdk/protocol.ts';
import type { Rank } from '../sdk/sdk-server.ts';
import { Sealer } from './sealing/sealer.ts';
import { makeImage } from './staging/image.ts';

const UNTOLD = { stallMs: null, waitedMs: 0, betweenMs: 0 };

let folder: ReturnType<typeof tempFolder>;
let store: OpenStore;
let sealer: Sealer;
let said: ToRank[];
let ends: string[];
/** Runs when a save was reported as sealed. */
let phases: string[];
let whenSealed: () => void;
let timings: SaveTimings[];
let furthest: number | null;
/** The steps that were announced to other nodes. */
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

/** A coordinator whose saves lie in memory. */
async function makeDesk(...ranks: Rank[]): Promise<SaveCoordinator> {
  const attempt = await startAttempt(store, { gang: 'a' });
  const coordinator: SaveCoordinator = new SaveCoordinator({
    store,
    sealer,
    retention: null,
    participants: () => ranks,
    lost: () => [],
    furthest: () => furthest,
    strategy: {
      expect: (step, { isAwaited }) => {
        announced.push({ step, isAwaited });
        return new Promise(() => {});
      },
      open: (step) => {
        const save = beginSave(store, attempt, { step, worldSize: 1 });
        const image = makeImage(join(folder.path, 'stage'), save, { ranks: 1, owner: null, dir: store.path });
        return Promise.resolve(ownSave({ store, sealer }, save, image));
      },
    },
    events: {
      onBegun: () => {},
      onHandedOver: () => {},
      onSealed: ({ name }, times) => {
        timings.push(times);
        ends.push(name);
        phases.push(coordinator.phase);
        whenSealed();
      },
      onLost: (_, error, outcome) => void ends.push(`${outcome}: ${error.message}`),
      onDefect: (thrown) => void ends.push(String(thrown)),
    },
  });
  return coordinator;
}

/** Resolves to the folder that the rank was given. */
async function given(heard = said): Promise<ToRank & { readonly type: 'folder' }> {
  for (;;) {
    const found = heard.find((message) => message.type === 'folder');
    if (found !== undefined) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a rank that disconnects while it saves into memory', () => {
  it('has handed over if it left its mark, even when its message was lost', async () => {
    const rank = makeRank(0);
    const coordinator = await makeDesk(rank);
    coordinator.begin(rank, 5);
    const { path, mark } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    writeFileSync(mark ?? '', '');
    coordinator.gone(rank);
    expect(coordinator.phase).toBe('sealing');
    await coordinator.idle();
    expect(ends).toEqual(['step-5']);
  });

  it('has not handed over if it left no mark', async () => {
    const rank = makeRank(0);
    const coordinator = await makeDesk(rank);
    coordinator.begin(rank, 5);
    const { path } = await given();
    writeFileSync(join(path, 'state'), 'half');
    coordinator.gone(rank);
    expect([coordinator.phase, ends]).toEqual(['idle', ['failed: rank 0 disconnected before it wrote its part']]);
  });
});

describe('the stall of a save', () => {
  it.each([
    ['is the whole time until the hand-over', null, (writeMs: number) => writeMs],
    ['is the time that the rank reports, when it trained on meanwhile', 0, () => 0],
    ['is never longer than the write, whatever the rank reports', 1e9, (writeMs: number) => writeMs],
  ])('%s', async (_, told, expected) => {
    const rank = makeRank(0);
    const coordinator = await makeDesk(rank);
    coordinator.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    coordinator.handOver(rank, save, { ...UNTOLD, stallMs: told });
    await coordinator.idle();
    const [{ stallMs, writeMs } = { stallMs: -1, writeMs: -1 }] = timings;
    expect(stallMs).toBe(expected(writeMs));
  });

  it('is the stall of the slowest rank', async () => {
    const ranks = [makeRank(0), makeRank(1, [])] as const;
    const coordinator = await makeDesk(...ranks);
    for (const rank of ranks) coordinator.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    coordinator.handOver(ranks[0], save, UNTOLD);
    coordinator.handOver(ranks[1], save, { ...UNTOLD, stallMs: 0 });
    await coordinator.idle();
    expect(timings).toMatchObject([{ step: 5, stallMs: expect.toSatisfy((ms: number) => ms > 0) as number }]);
  });
});

describe('the time that a save took to write', () => {
  it.each([
    ['is the time of the slowest rank without its wait for the others', [0, 1e9], (stallMs: number) => stallMs],
    ['is zero when the ranks only waited', [1e9, 1e9], () => 0],
  ])('%s', async (_, waited, wanted) => {
    const ranks = [makeRank(0), makeRank(1, [])] as const;
    const coordinator = await makeDesk(...ranks);
    for (const rank of ranks) coordinator.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    coordinator.handOver(ranks[0], save, { ...UNTOLD, waitedMs: waited[0] ?? 0 });
    coordinator.handOver(ranks[1], save, { ...UNTOLD, stallMs: 0, waitedMs: waited[1] ?? 0 });
    await coordinator.idle();
    // The trainer stood still the whole time, even while it waited.
    const [{ stallMs, writeMs } = { stallMs: -1, writeMs: -1 }] = timings;
    expect(stallMs).toBeGreaterThan(0);
    expect(writeMs).toBe(wanted(stallMs));
  });

  it('excludes the work of a rank before it began to write, and so does the stall', async () => {
    const rank = makeRank(0);
    const coordinator = await makeDesk(rank);
    coordinator.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    coordinator.handOver(rank, save, { ...UNTOLD, betweenMs: 1e9 });
    await coordinator.idle();
    expect(timings).toMatchObject([{ step: 5, writeMs: 0, stallMs: 0 }]);
  });
});

describe('a node that takes part in a save of another node', () => {
  it('gets one announcement for each step that ranks wait for, until no rank waits', async () => {
    const ranks = [makeRank(0), makeRank(1, [])] as const;
    const coordinator = await makeDesk(...ranks);
    coordinator.begin(ranks[0], 5);
    expect(announced.map(({ step, isAwaited }) => [step, isAwaited()])).toEqual([[5, true]]);
    coordinator.begin(ranks[1], 5);
    const { save, path } = await given();
    expect(announced[0]?.isAwaited()).toBe(false);
    writeFileSync(join(path, 'state'), 'everything');
    for (const rank of ranks) coordinator.handOver(rank, save, UNTOLD);
    for (const rank of ranks) coordinator.begin(rank, 6);
    expect(announced.map(({ step }) => step)).toEqual([5, 6]);
    expect(announced[1]?.isAwaited()).toBe(true);
    for (const rank of ranks) coordinator.gone(rank);
    expect(announced[1]?.isAwaited()).toBe(false);
    await coordinator.idle();
    expect(ends).toEqual(['step-5']);
  });
});

describe('a rank that begins a save', () => {
  /** Returns a coordinator that is sealing step 5 of this rank. */
  async function sealing(rank: Rank): Promise<SaveCoordinator> {
    const coordinator = await makeDesk(rank);
    coordinator.begin(rank, 5);
    const { save, path } = await given();
    writeFileSync(join(path, 'state'), 'everything');
    said.length = 0;
    coordinator.handOver(rank, save, UNTOLD);
    return coordinator;
  }

  it('waits while another save is being sealed, and then gets a folder', async () => {
    const rank = makeRank(0);
    const coordinator = await sealing(rank);
    expect(coordinator.isHolding).toBe(false);
    coordinator.begin(rank, 6);
    expect([coordinator.phase, coordinator.isHolding]).toEqual(['sealing', true]);
    expect((await given()).type).toBe('folder');
    expect([ends, phases]).toEqual([['step-5'], ['tidying']]);
    coordinator.abandon('the test is over');
  });

  it('is refused, as is one that already waits, until the disk answers again', async () => {
    const rank = makeRank(0);
    const coordinator = await sealing(rank);
    expect(coordinator.waiting).toMatchObject({ kind: 'sealing', step: 5 });
    coordinator.begin(rank, 6);
    coordinator.refuseMeanwhile('the disk does not answer');
    coordinator.begin(rank, 7);
    const refused = [6, 7].map((step) => ({ type: 'refused', step, code: 'SEAL_OVERDUE', reason: 'the disk does not answer' }));
    expect([said, coordinator.isHolding]).toEqual([refused, false]);
    await coordinator.idle();
    expect([ends, coordinator.waiting]).toEqual([['step-5'], null]);
    said.length = 0;
    coordinator.refuseMeanwhile('nobody waits for it');
    coordinator.begin(rank, 8);
    expect((await given()).step).toBe(8);
    coordinator.abandon('the test is over');
  });

  it('waits for the tidying and is not refused once the disk has answered again', async () => {
    const rank = makeRank(0);
    const coordinator = await sealing(rank);
    coordinator.refuseMeanwhile('the disk does not answer');
    whenSealed = () => coordinator.begin(rank, 6);
    expect((await given()).step).toBe(6);
    expect(phases).toEqual(['tidying']);
    coordinator.abandon('the test is over');
  });

  it('waits once when it begins the same step many times', async () => {
    const rank = makeRank(0);
    const coordinator = await sealing(rank);
    for (let begun = 0; begun < 1000; begun++) coordinator.begin(rank, 6);
    expect(said.filter(({ type }) => type === 'refused')).toHaveLength(999);
    coordinator.abandon('the test is over');
  });

  it('gets a new folder, and an open save that it never wrote is abandoned', async () => {
    const rank = makeRank(0);
    const coordinator = await makeDesk(rank);
    coordinator.begin(rank, 5);
    await given();
    said.length = 0;
    coordinator.begin(rank, 6);
    expect((await given()).step).toBe(6);
    expect([coordinator.step, ends]).toEqual([6, ['failed: rank 0 has begun step 6 without having written step 5']]);
    coordinator.abandon('the test is over');
  });

  it('is refused once the coordinator is closed, and a save that was handed over is still sealed', async () => {
    const rank = makeRank(0);
    const coordinator = await sealing(rank);
    coordinator.begin(rank, 6);
    coordinator.close('the trainer has ended');
    coordinator.begin(rank, 7);
    expect(said).toEqual([6, 7].map((step) => ({ type: 'refused', step, code: 'SAVE_INCOMPLETE', reason: 'the trainer has ended' })));
    await coordinator.idle();
    expect(ends).toEqual(['step-5']);
  });

  it('takes part even if it connected after the first rank began, and the save waits for all ranks', async () => {
    const heard: ToRank[][] = [[], [], []];
    const ranks = heard.map((one, rank) => makeRank(rank, one));
    const [first, second, third] = ranks as [Rank, Rank, Rank];
    const coordinator = await makeDesk(first, second);
    coordinator.begin(first, 5);
    coordinator.begin(third, 5);
    expect(coordinator.phase).toBe('gathering');
    coordinator.begin(second, 5);
    await Promise.all(heard.map(given));
    coordinator.abandon('the test is over');
  });

  it('is refused at once at a step that another rank has passed, and no save is reported as lost', async () => {
    const heard: ToRank[][] = [[], []];
    const [first, second] = heard.map((one, rank) => makeRank(rank, one)) as [Rank, Rank];
    const coordinator = await makeDesk(first, second);
    coordinator.begin(first, 5);
    coordinator.late(second, 5);
    furthest = 6;
    coordinator.begin(first, 5);
    expect(heard[0]?.map(({ type }) => type)).toEqual(['refused', 'refused']);
    expect([coordinator.phase, ends]).toEqual(['idle', []]);
  });
});
