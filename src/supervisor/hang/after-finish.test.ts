import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { VirtualClock } from '../../core/clock.ts';
import type { HangRules } from '../../domain/hang/hang.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import { RunLog } from '../base/run-log.ts';
import { Ranks } from '../session/ranks.ts';
import { type AfterFinish, watchAfterFinish } from './after-finish.ts';
import type { OnHang } from '../settings/run-options.ts';

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

/** A trainer that has just reported the run as finished. */
function finish(rules: HangRules | null, onHang: OnHang = 'report') {
  const say = (text: string): unknown => said.push(text);
  const log = new RunLog({ dir: folder.path, node: 'n', clock, terminationLog: '/dev/null', say, shout: say });
  log.listen((event) => recorded.push(event));
  const session = {
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
  const linger: AfterFinish = watchAfterFinish({ rules, onHang, session, trainer, clock, log, signal: stop.signal });
  return { session, linger };
}

describe('a trainer that keeps running after it reported the run as finished', () => {
  it('is logged once, without a warning, and left alone when hang detection is off', async () => {
    const { linger } = finish(null, 'report');
    await clock.advance(MINUTE - 2000);
    expect(said).toEqual([]);
    await clock.advance(300 * MINUTE);
    expect(said).toEqual(['the trainer said 1m ago that the run is finished, but it has not ended yet; Holdfast waits for it']);
    expect(recorded).toMatchObject([{ kind: 'note', level: 'info' }]);
    expect([linger.wasEnded, trainerEnds]).toEqual([false, 0]);
  });

  it.each([
    ['the explicit limit', EXPLICIT, 10],
    ['an hour, with the automatic limit', AUTO, 60],
  ])('hangs after %s', async (_, rules, minutes) => {
    const { linger } = finish(rules);
    await clock.advance(minutes * MINUTE);
    expect(recorded.filter(({ kind }) => kind === 'hang')).toEqual([]);
    await clock.advance(100 * MINUTE);
    expect(recorded.filter(({ kind }) => kind === 'hang')).toHaveLength(1);
    expect([linger.wasEnded, trainerEnds]).toEqual([false, 0]);
  });

  it('is ended if the option --on-hang says so', async () => {
    const { linger } = finish(EXPLICIT, 'restart');
    await clock.advance(11 * MINUTE);
    expect([linger.wasEnded, trainerEnds]).toEqual([true, 1]);
    expect(said.at(-1)).toBe('warning: the trainer reported the end of the run and then hung; Holdfast ends it, and the run is finished');
  });

  it('does not count as hung while it is busy, nor right after', async () => {
    const { session, linger } = finish(EXPLICIT, 'restart');
    session.measured.quietSinceMs = null;
    await clock.advance(100 * MINUTE);
    session.measured.quietSinceMs = clock.monotonic();
    await clock.advance(9 * MINUTE);
    expect(linger.wasEnded).toBe(false);
    await clock.advance(2 * MINUTE);
    expect(linger.wasEnded).toBe(true);
  });

  it('is forgotten once other ranks have taken its place, or it has ended', async () => {
    const { session } = finish(EXPLICIT, 'restart');
    session.finishedMs = null;
    await clock.advance(100 * MINUTE);
    stop.abort(new Error('it has ended'));
    await clock.advance(1000);
    expect([said, trainerEnds, clock.waiting]).toEqual([[], 0, 0]);
  });
});
