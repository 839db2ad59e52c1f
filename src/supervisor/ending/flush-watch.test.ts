import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import type { Deadline } from '../../domain/grace/effective-grace.ts';
import type { Prediction } from '../../domain/grace/prediction.ts';
import { untilHopeless } from './flush-watch.ts';
import type { SaveProgress } from '../saves/save-state.ts';

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

/** Starts a flush with this many seconds left, and returns what the watch logged. */
function watch(leftSeconds: number, progress: () => SaveProgress | null, weigh = (): number => 0): readonly string[] {
  const said: string[] = [];
  const [now, deadlineMs] = [clock.now(), clock.now() + leftSeconds * SECOND];
  const deadline: Deadline = { deadlineMs, sinceMs: now, graceMs: deadlineMs - now, confidence: 'known', reasons: [] };
  const coordinator = {
    get progress() {
      return progress();
    },
  };
  const log = { say: (text: string) => void said.push(text), record: () => {} };
  const session = { coordinator, measured: { lastBytes: TOTAL, write: takes(2 * SECOND), seal: takes(SECOND), busyMs: () => busyMs } };
  const world = { session, store: { clock }, notices: { deadline }, log, signal: stop.signal };
  untilHopeless({ ...world, weigh: () => Promise.resolve(weigh()) }).catch(() => {});
  return said;
}

/** Bytes that grow by this many per second from an instant on. */
const growing = (perSecond: number, fromMs: number) => (): number => Math.max(0, ((clock.monotonic() - fromMs) * perSecond) / SECOND);

describe('a flush that the ranks are writing', () => {
  const writing = (): SaveProgress => ({ kind: 'writing', sinceMs: 0, folder: '/folder' });

  it('is abandoned as soon as it cannot end in time at the speed seen', async () => {
    const said = watch(10, writing, growing(50, 0));
    await clock.advance(2 * SECOND);
    expect(said).toEqual([expect.stringMatching(/^gave the flush up: \d+ % written in .*, the rest needs .* and .* are left$/)]);
  });

  it('continues when the ranks waited for each other first and have written fast enough since', async () => {
    const said = watch(20, writing, growing(100, 8 * SECOND));
    await clock.advance(18.5 * SECOND);
    expect(said).toEqual([]);
  });
});

describe('a save that the ranks were writing before the notice', () => {
  it('is judged by all the time since its start', async () => {
    await clock.advance(20 * SECOND);
    const said = watch(10, () => ({ kind: 'writing', sinceMs: 0, folder: '/folder' }), growing(10, 0));
    await clock.advance(SECOND);
    expect(said).toEqual([expect.stringMatching(/^gave the flush up: 20 % written in 20\.1s, the rest needs /)]);
  });
});

describe('a flush that has not begun', () => {
  it('is waited for until the deadline, because the trainer may be about to begin it', async () => {
    const said = watch(10, () => null);
    await clock.advance(11 * SECOND);
    expect(said).toEqual([]);
  });

  it('is abandoned when the trainer is busy and the time left is too short for a save', async () => {
    busyMs = 60 * SECOND;
    const said = watch(10, () => null);
    await clock.advance(6.5 * SECOND);
    expect(said).toEqual([]);
    await clock.advance(0.5 * SECOND);
    expect(said).toEqual([
      expect.stringMatching(/^gave the flush up: the trainer has been busy without steps for 1m, a save usually needs 3\.4s/),
    ]);
  });

  it('continues when the trainer is busy with something else while the save is written or sealed', async () => {
    busyMs = 60 * SECOND;
    const said = watch(10, () => ({ kind: 'writing', sinceMs: 0, folder: '/folder' }));
    await clock.advance(9 * SECOND);
    expect(said).toEqual([]);
  });
});

describe('a flush that the supervisor is sealing', () => {
  it('is judged by the bytes sealed since the seal began', async () => {
    const done = growing(50, 0);
    const said = watch(10, () => ({ kind: 'sealing', sinceMs: 0, done: done(), total: TOTAL }));
    await clock.advance(2 * SECOND);
    expect(said).toEqual([expect.stringMatching(/^gave the flush up: /)]);
  });
});
