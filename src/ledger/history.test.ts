import { describe, expect, it } from 'vitest';
import { makeLedger } from '../../test/support/make-ledger.ts';
import { MEMORY, tempFolder } from '../../test/support/temp-folder.ts';
import { planCadence } from '../domain/cadence/cadence.ts';
import { NO_SAVES, observeSave, predictSave } from '../domain/grace/prediction.ts';
import type { LedgerEvent, Recorded } from './events.ts';
import { historyBefore } from './history.ts';
import { readLedger } from './reader.ts';

const MINUTE = 60_000;

async function roughMorning(): Promise<readonly Recorded[]> {
  using run = tempFolder(MEMORY);
  await makeLedger(run.path);
  return readLedger(run.path).events;
}

describe('the history of a run', () => {
  it('counts interruptions and flushes, and measures the time up and the time of restarts', async () => {
    const { attempts, interruptions, flushed, upMs, restartMs, writes, seals } = historyBefore(5, await roughMorning());
    // A Spot reclaim that was flushed, a crash that is none, an eviction, and an attempt that fell
    // silent.
    expect({ attempts, interruptions, flushed }).toEqual({ attempts: 4, interruptions: 3, flushed: 1 });
    expect(upMs / MINUTE).toBeCloseTo(101, 0);
    expect(restartMs).toBe(5 * MINUTE);
    expect([writes.length, seals.length]).toEqual([19, 19]);
    expect(writes[0]?.ms).toBe(900);
    expect(seals[0]?.ms).toBe(2060);
  });

  it('excludes the attempt that asks, and later ones', async () => {
    expect(historyBefore(2, await roughMorning())).toMatchObject({ attempts: 1, interruptions: 1, flushed: 1, restartMs: null });
    expect(historyBefore(1, await roughMorning())).toMatchObject({ attempts: 0, interruptions: 0, writes: [], restartMs: null });
  });

  it.each([
    ['ctrl-c', 0],
    ['suspend', 0],
    ['sigterm', 1],
  ] as const)('counts an end by %s as %i interruptions', (cause, interruptions) => {
    const event: LedgerEvent = {
      kind: 'attempt-ended',
      exitCode: 143,
      end: 'interrupted',
      cause,
      step: 1,
      lastGoodStep: 1,
      lostMs: 0,
      lostSteps: 0,
      accelerators: 1,
      sentence: '',
    };
    expect(historyBefore(2, [{ attempt: 1, node: 'a', seq: 1, atMs: 0, event }]).interruptions).toBe(interruptions);
  });

  it('gives the next attempt a cadence and a prediction before its first save', async () => {
    const { writes, seals, ...history } = historyBefore(5, await roughMorning());
    const write = predictSave(writes.reduce(observeSave, NO_SAVES), 2.4 * 2 ** 30);
    const seal = predictSave(seals.reduce(observeSave, NO_SAVES), 2.4 * 2 ** 30);
    const save = { stall: write?.medianMs ?? 0, persist: seal?.medianMs ?? 0, slowdown: 0 };
    const plan = planCadence({ kind: 'auto' }, { ...history, save, stepMs: 500, flushMs: 3000 });
    expect(plan.sentence).toBe(
      'every 1m 36s: a save costs 900ms, an interruption comes every 1h 25m, 1 of 3 interruptions were flushed, which proves 1 %',
    );
  });
});
