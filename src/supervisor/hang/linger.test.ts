import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { VirtualClock } from '../../core/clock.ts';
import type { HangRules } from '../../domain/hang.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import { Book } from '../book.ts';
import { Ranks } from '../ranks.ts';
import { type Linger, watchLingering } from './linger.ts';
import type { OnHang } from './watch.ts';

const MINUTE = 60_000;
const EXPLICIT: HangRules = { multiple: 0, leastMs: 10 * MINUTE, patientMs: 60 * MINUTE };
const AUTO: HangRules = { multiple: 20, leastMs: 5 * MINUTE, patientMs: 60 * MINUTE };

let folder: ReturnType<typeof tempFolder>;
let clock: VirtualClock;
let stop: AbortController;
let said: string[];
let recorded: LedgerEvent[];
let trainerEnds: number;

beforeEach(() => {
  folder = tempFolder();
  [clock, stop, said, recorded, trainerEnds] = [new VirtualClock(), new AbortController(), [], [], 0];
});

afterEach(() => {
  stop.abort(new Error('the test is over'));
  folder[Symbol.dispose]();
});

/** A trainer that has said now that the run is finished. */
function finish(rules: HangRules | null, onHang: OnHang = 'report') {
  const say = (text: string): unknown => said.push(text);
  const book = new Book({ dir: folder.path, node: 'n', clock, terminationLog: '/dev/null', say, shout: say });
  book.listen((event) => recorded.push(event));
  const life = {
    finished: Promise.resolve(),
    finishedMs: clock.monotonic() as number | null,
    ranks: new Ranks(),
    measured: { quietSinceMs: 0 as number | null },
  };
  const trainer = {
    living: () => [],
    endRest: () => {
      trainerEnds++;
      return Promise.resolve(true);
    },
  };
  const linger: Linger = watchLingering({ rules, onHang, life, trainer, clock, book, signal: stop.signal });
  return { life, linger };
}

describe('a trainer that does not end after it has said that the run is finished', () => {
  it('is told of once, calmly, and is left alone where hangs are not looked for', async () => {
    const { linger } = finish(null, 'report');
    await clock.advance(MINUTE - 2000);
    expect(said).toEqual([]);
    await clock.advance(300 * MINUTE);
    expect(said).toEqual(['the trainer said 1m ago that the run is finished, and has not ended yet; it is waited for']);
    expect(recorded).toMatchObject([{ kind: 'note', level: 'info' }]);
    expect([linger.wasEnded, trainerEnds]).toEqual([false, 0]);
  });

  it.each([
    ['the time that was given', EXPLICIT, 10],
    ['an hour, where there is a pace but no step to come', AUTO, 60],
  ])('hangs after %s', async (_, rules, minutes) => {
    const { linger } = finish(rules);
    await clock.advance(minutes * MINUTE);
    expect(recorded.filter(({ kind }) => kind === 'hang')).toEqual([]);
    await clock.advance(100 * MINUTE);
    expect(recorded.filter(({ kind }) => kind === 'hang')).toHaveLength(1);
    expect([linger.wasEnded, trainerEnds]).toEqual([false, 0]);
  });

  it('is ended where hangs are', async () => {
    const { linger } = finish(EXPLICIT, 'restart');
    await clock.advance(11 * MINUTE);
    expect([linger.wasEnded, trainerEnds]).toEqual([true, 1]);
    expect(said.at(-1)).toBe('warning: the trainer hangs after its last word and is ended; the run is finished');
  });

  it('does not hang while it is busy, nor right after', async () => {
    const { life, linger } = finish(EXPLICIT, 'restart');
    life.measured.quietSinceMs = null;
    await clock.advance(100 * MINUTE);
    life.measured.quietSinceMs = clock.monotonic();
    await clock.advance(9 * MINUTE);
    expect(linger.wasEnded).toBe(false);
    await clock.advance(2 * MINUTE);
    expect(linger.wasEnded).toBe(true);
  });

  it('is forgotten where others have come in its place, or it has ended', async () => {
    const { life } = finish(EXPLICIT, 'restart');
    life.finishedMs = null;
    await clock.advance(100 * MINUTE);
    stop.abort(new Error('it has ended'));
    await clock.advance(1000);
    expect([said, trainerEnds, clock.waiting]).toEqual([[], 0, 0]);
  });
});
