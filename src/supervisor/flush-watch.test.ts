import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../core/clock.ts';
import type { Deadline } from '../domain/effective-grace.ts';
import type { Prediction } from '../domain/prediction.ts';
import { untilHopeless } from './flush-watch.ts';
import type { DeskProgress } from './desk-state.ts';

const SECOND = 1000;
const TOTAL = 1000;

let clock: VirtualClock;
let stop: AbortController;
let busyMs: number | null;

const takes = (ms: number): Prediction => ({ medianMs: ms, p95Ms: ms, samples: 20 });

beforeEach(() => {
  [clock, stop, busyMs] = [new VirtualClock(), new AbortController(), null];
});

afterEach(() => stop.abort(new Error('the test is over')));

/** A flush that was begun now, with so many seconds left; what was said of it. */
function watch(leftSeconds: number, progress: () => DeskProgress | null, weigh = (): number => 0): readonly string[] {
  const said: string[] = [];
  const [now, deadlineMs] = [clock.now(), clock.now() + leftSeconds * SECOND];
  const deadline: Deadline = { deadlineMs, sinceMs: now, graceMs: deadlineMs - now, confidence: 'known', reasons: [] };
  const desk = {
    get progress() {
      return progress();
    },
  };
  const book = { say: (text: string) => void said.push(text), record: () => {} };
  const life = { desk, measured: { lastBytes: TOTAL, write: takes(2 * SECOND), seal: takes(SECOND), busyMs: () => busyMs } };
  const world = { life, store: { clock }, notices: { deadline }, book, signal: stop.signal };
  untilHopeless({ ...world, weigh: () => Promise.resolve(weigh()) }).catch(() => {});
  return said;
}

/** Bytes that grow by so many a second from an instant on. */
const growing = (perSecond: number, fromMs: number) => (): number => Math.max(0, ((clock.monotonic() - fromMs) * perSecond) / SECOND);

describe('a flush that is being written', () => {
  const writing = (): DeskProgress => ({ kind: 'writing', sinceMs: 0, folder: '/folder' });

  it('is given up as soon as it cannot end in time at the speed seen', async () => {
    const said = watch(10, writing, growing(50, 0));
    await clock.advance(2 * SECOND);
    expect(said).toEqual([expect.stringMatching(/^gave the flush up: \d+ % written in .*, the rest needs .* and .* are left$/)]);
  });

  it('goes on where the ranks waited for each other first, and write fast enough since', async () => {
    const said = watch(20, writing, growing(100, 8 * SECOND));
    await clock.advance(18.5 * SECOND);
    expect(said).toEqual([]);
  });
});

describe('a save that was being written before the notice came', () => {
  it('is judged by all the time that it took', async () => {
    await clock.advance(20 * SECOND);
    const said = watch(10, () => ({ kind: 'writing', sinceMs: 0, folder: '/folder' }), growing(10, 0));
    await clock.advance(SECOND);
    expect(said).toEqual([expect.stringMatching(/^gave the flush up: 20 % written in 20\.1s, the rest needs /)]);
  });
});

describe('a flush that has not begun', () => {
  it('is waited for to the end, as the trainer may be about to begin it', async () => {
    const said = watch(10, () => null);
    await clock.advance(11 * SECOND);
    expect(said).toEqual([]);
  });

  it('is given up where the trainer is busy, as soon as there is no time for a save any more', async () => {
    busyMs = 60 * SECOND;
    const said = watch(10, () => null);
    await clock.advance(6.5 * SECOND);
    expect(said).toEqual([]);
    await clock.advance(0.5 * SECOND);
    expect(said).toEqual([
      expect.stringMatching(/^gave the flush up: the trainer has been busy without steps for 1m, a save usually needs 3\.4s/),
    ]);
  });

  it('goes on where the trainer is busy with something else while it is written or sealed', async () => {
    busyMs = 60 * SECOND;
    const said = watch(10, () => ({ kind: 'writing', sinceMs: 0, folder: '/folder' }));
    await clock.advance(9 * SECOND);
    expect(said).toEqual([]);
  });
});

describe('a flush that is being sealed', () => {
  it('is judged by its own bytes, since it began', async () => {
    const done = growing(50, 0);
    const said = watch(10, () => ({ kind: 'sealing', sinceMs: 0, done: done(), total: TOTAL }));
    await clock.advance(2 * SECOND);
    expect(said).toEqual([expect.stringMatching(/^gave the flush up: /)]);
  });
});
