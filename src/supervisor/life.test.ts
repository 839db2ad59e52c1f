import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRunOptions } from '../../test/support/run-options.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { startAttempt } from '../checkpoint/store/attempt.ts';
import { openRun } from '../checkpoint/store/store.ts';
import { VirtualClock } from '../core/clock.ts';
import { Book } from './book.ts';
import { judge } from './hang/watch.ts';
import { Life } from './life.ts';
import type { Rank } from './sdk/server.ts';
import { Sealer } from './sealing/sealer.ts';

const MINUTE = 60_000;
const RULES = { multiple: 20, leastMs: 5 * MINUTE, patientMs: 60 * MINUTE };

let folder: ReturnType<typeof tempFolder>;
let clock: VirtualClock;
let sealer: Sealer;
let book: Book;

beforeEach(() => {
  [folder, clock] = [tempFolder(), new VirtualClock()];
});

afterEach(async () => {
  await book.close();
  await sealer.close();
  folder[Symbol.dispose]();
});

function unheard(): void {}

const makeRank = (rank: number): Rank => ({ rank, world: 2, pid: process.pid, dumpSignal: null, send: unheard });

/** A life of two ranks that have made steps of a second. */
async function twoRanks(): Promise<{ life: Life; first: Rank; second: Rank; isHung: () => boolean | undefined }> {
  const dir = join(folder.path, 'run');
  mkdirSync(dir);
  const options = makeRunOptions(dir, { command: ['true'], tmp: folder.path });
  const store = openRun(dir, { clock });
  book = new Book({ dir, node: 'n', clock, terminationLog: null, say: unheard, shout: unheard });
  sealer = new Sealer({ dir, clock });
  const attempt = await startAttempt(store, { gang: 'a' });
  await book.open(attempt.attempt);
  const told = { onSafe: unheard, onFirstStep: unheard, onFenced: unheard, onLeft: unheard };
  const life = new Life({ options, store, attempt, resume: null, book, sealer, stage: null, ...told });
  const [first, second] = [makeRank(0), makeRank(1)];
  for (const rank of [first, second]) life.onRank(rank);
  await life.attached;
  for (let step = 0; step < 5; step++) {
    for (const rank of [first, second]) life.onMessage(rank, { type: 'step', step, metrics: {} });
    await clock.advance(1000);
  }
  return { life, first, second, isHung: () => judge({ life, rules: RULES, clock })?.isHung };
}

describe('two ranks of which one is busy', () => {
  it('do not hang, although the other is back at once and waits for it', async () => {
    const { life, first, second, isHung } = await twoRanks();
    for (const rank of [first, second]) life.onMessage(rank, { type: 'busy', what: 'evaluation' });
    life.onMessage(second, { type: 'busy', what: null });
    await clock.advance(30 * MINUTE);
    expect([isHung(), life.measured.busyMs(clock.monotonic())]).toEqual([false, 30 * MINUTE]);
    life.onMessage(first, { type: 'busy', what: null });
    await clock.advance(4 * MINUTE);
    expect(isHung()).toBe(false);
    await clock.advance(2 * MINUTE);
    expect(isHung()).toBe(true);
  });

  it('do not hang, although the other makes a step', async () => {
    const { life, first, second, isHung } = await twoRanks();
    life.onMessage(second, { type: 'busy', what: 'evaluation' });
    life.onMessage(first, { type: 'step', step: 5, metrics: {} });
    await clock.advance(30 * MINUTE);
    expect(isHung()).toBe(false);
  });

  it.each(['makes a step', 'goes away'])('are looked at again when it %s, whether or not it says that it is back', async (how) => {
    const { life, first, second, isHung } = await twoRanks();
    life.onMessage(second, { type: 'busy', what: 'evaluation' });
    await clock.advance(30 * MINUTE);
    if (how === 'goes away') life.onGone(second);
    else for (const rank of [first, second]) life.onMessage(rank, { type: 'step', step: 5, metrics: {} });
    expect([isHung(), life.measured.busyMs(clock.monotonic())]).toEqual([false, null]);
    await clock.advance(6 * MINUTE);
    expect(isHung()).toBe(true);
  });
});
