import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { Measurements } from '../session/measurements.ts';
import { Ranks } from '../session/ranks.ts';
import type { Rank } from '../sdk/sdk-server.ts';
import { historyBefore } from '../../ledger/history.ts';
import { watchProgress } from './watch-progress.ts';

const SECOND = 1000;
const RULES = { multiple: 0, leastMs: 10 * SECOND, patientMs: 3600 * SECOND };
const RANK: Rank = { rank: 0, world: 1, pid: process.pid, dumpSignal: null, send: () => {} };

let clock: VirtualClock;
let stop: AbortController;
let said: string[];
let kills: number;
let over: Promise<void>;

beforeEach(() => {
  [clock, stop, said, kills] = [new VirtualClock(), new AbortController(), [], 0];
});

afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await over;
});

/** A trainer that has just made a step, and is ended when it hangs. */
function train(): Measurements {
  const measured = new Measurements(clock.monotonic(), null, () => historyBefore(1, []));
  const ranks = new Ranks();
  ranks.add(RANK);
  measured.noteStep(1, clock.monotonic());
  const finished = new Promise<void>(() => {});
  const coordinator = { phase: 'idle', isHolding: false } as const;
  const session = { ranks, measured, coordinator, saidFinished: false, finished, finishedMs: null };
  const trainer = {
    living: () => [],
    endRest: () => Promise.resolve(true),
    killAll: () => {
      kills++;
      return Promise.resolve(true);
    },
  };
  const say = (text: string): void => void said.push(text);
  const log = { say, shout: say, warn: say, record: () => {}, complain: () => {} };
  over = watchProgress({ rules: RULES, onHang: 'restart', session, trainer, clock, log, signal: stop.signal, mayRestart: () => true });
  return measured;
}

/** Advances second by second, so that tasks on the event loop get their turns, too. */
async function seconds(count: number): Promise<void> {
  for (let second = 0; second < count; second++) await clock.advance(SECOND);
}

describe('--on-hang=restart', () => {
  it('kills a trainer that has made no step by the time its stacks are written', async () => {
    train();
    await seconds(20);
    expect([kills, said.at(-1)]).toEqual([1, expect.stringContaining('the trainer hangs and is killed')]);
  });

  it('spares a trainer that makes a step between the report and the kill, and keeps watching it', async () => {
    const measured = train();
    await seconds(11);
    expect(said).toEqual([expect.stringContaining('the trainer seems to hang')]);
    measured.noteStep(2, clock.monotonic());
    await seconds(5);
    expect([kills, said[1]]).toEqual([0, 'the trainer is not killed: it gave a sign of life while its stacks were written']);
    await seconds(20);
    expect(kills).toBe(1);
  });
});
