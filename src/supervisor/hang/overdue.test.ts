import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import type { SaveWaiting } from '../saves/save-state.ts';
import { watchOverdue } from './overdue.ts';

const PREDICTED = { medianMs: 4000, p95Ms: 10_000, samples: 9 };

/** A coordinator whose disk behaves as the test says, and a watch over it. */
function makeWatched() {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const [refused, events, shouted]: [string[], LedgerEvent[], string[]] = [[], [], []];
  const coordinator = { waiting: null as SaveWaiting | null, refuseMeanwhile: (reason: string) => void refused.push(reason) };
  const measured = { seal: PREDICTED as typeof PREDICTED | null, lastGoodStep: 30 as number | null };
  const log = { record: (event: LedgerEvent) => void events.push(event), shout: (text: string) => void shouted.push(text) };
  const over = watchOverdue({ session: { coordinator, measured }, clock, log, signal: stop.signal });
  const handOver = (save: string, step: number): void => {
    const now = clock.monotonic();
    coordinator.waiting = { kind: 'sealing', save, step, sinceMs: now, movedMs: now };
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await over;
  };
  return { clock, coordinator, measured, refused, events, shouted, handOver, end };
}

describe('a disk that does not answer', () => {
  it('is reported once for each save that waits for it, in the ledger and the log, and no other save waits', async () => {
    const { clock, handOver, refused, events, shouted, end } = makeWatched();
    handOver('a', 40);
    await clock.advance(50_000);
    expect([refused, events, shouted]).toEqual([[], [], []]);
    await clock.advance(1000);
    const sentence = 'sealing step 40 has taken 51s so far, where 4s were predicted, and 10s at most';
    const [predicted, limitMs] = [{ medianMs: 4000, p95Ms: 10_000 }, 50_000];
    expect(events).toEqual([{ kind: 'save-overdue', save: 'a', step: 40, tookMs: 51_000, limitMs, predicted, sentence }]);
    expect(shouted).toEqual([
      `warning: ${sentence}; the disk may have stopped responding. No save starts before it responds; the last good step is 30`,
    ]);
    expect(refused).toEqual([`${sentence}: no save starts before the disk responds`]);
    await clock.advance(3_600_000);
    expect(events).toHaveLength(1);
    handOver('b', 50);
    await clock.advance(60_000);
    expect(events).toMatchObject([{ save: 'a' }, { save: 'b', step: 50 }]);
    await end();
  });

  it('is reported again when it sealed a save late and then does not delete the superseded checkpoints', async () => {
    const { clock, coordinator, handOver, events, end } = makeWatched();
    handOver('a', 40);
    await clock.advance(60_000);
    const now = clock.monotonic();
    coordinator.waiting = { kind: 'tidying', save: 'a', step: 40, sinceMs: now, movedMs: now };
    await clock.advance(11 * 60_000);
    expect(events).toMatchObject([
      { sentence: expect.stringContaining('sealing step 40') },
      { sentence: expect.stringContaining('deleting what step') },
    ]);
    await end();
  });

  it('is not reported while it answers, nor afterwards', async () => {
    const { clock, coordinator, measured, handOver, events, end } = makeWatched();
    for (const save of ['a', 'b', 'c']) {
      handOver(save, 1);
      await clock.advance(49_000);
      coordinator.waiting = null;
      await clock.advance(100_000);
    }
    // This is the first save of all: its duration is unknown, and its bytes move.
    measured.seal = null;
    handOver('d', 2);
    for (let minute = 0; minute < 60; minute++) {
      await clock.advance(60_000);
      if (coordinator.waiting !== null) coordinator.waiting = { ...coordinator.waiting, movedMs: clock.monotonic() };
    }
    expect(events).toEqual([]);
    await clock.advance(11 * 60_000);
    expect(events).toMatchObject([{ save: 'd', predicted: null }]);
    await end();
  });
});
