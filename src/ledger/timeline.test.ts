import { describe, expect, it } from 'vitest';
import type { LedgerEvent, Recorded } from './events.ts';
import { isFinished, lanesOf } from './timeline.ts';

let seq = 0;
const at = (atMs: number, event: LedgerEvent, node = 'a', attempt = 1): Recorded => ({ attempt, node, seq: ++seq, atMs, event });

const sealed = (step: number, outcome: 'sealed' | 'failed' = 'sealed'): LedgerEvent => ({
  kind: 'save-ended',
  save: `s${step}`,
  step,
  outcome,
  bytes: 1,
  totalMs: 1,
  stallMs: null,
  writeMs: null,
  copyMs: null,
  checksumMs: null,
  commitMs: null,
  problem: null,
});
const ended = (end: 'finished' | 'interrupted' | 'failed', exitCode: number): LedgerEvent => ({
  kind: 'attempt-ended',
  exitCode,
  end,
  cause: null,
  step: 9,
  lastGoodStep: 8,
  lostMs: 5,
  lostSteps: 1,
  accelerators: 1,
  sentence: end,
});

describe('the lanes of a ledger', () => {
  it('are one per attempt, from its first to its last event', () => {
    const lanes = lanesOf([at(50, ended('interrupted', 143), 'a', 2), at(10, sealed(4)), at(30, sealed(8)), at(40, sealed(9, 'failed'))]);
    expect(
      lanes.map(({ attempt, startedMs, seenMs, sealed: saves, lastSealedStep }) => [attempt, startedMs, seenMs, saves, lastSealedStep]),
    ).toEqual([
      [1, 10, 40, 2, 8],
      [2, 50, 50, 0, null],
    ]);
    expect(lanes[0]?.marks.map(({ kind }) => kind)).toEqual(['sealed', 'sealed', 'save-failed']);
    expect(lanes[0]?.end).toBeNull();
  });

  it('count a save once, although every node records it', () => {
    expect(lanesOf([at(1, sealed(4), 'a'), at(2, sealed(4), 'b')])[0]).toMatchObject({ sealed: 1, nodes: ['a', 'b'] });
  });

  it('show the end of the node that failed', () => {
    const lane = lanesOf([at(1, ended('finished', 0), 'a'), at(2, ended('failed', 7), 'b'), at(3, ended('interrupted', 143), 'c')])[0];
    expect(lane?.end?.exitCode).toBe(7);
  });

  it('show the furthest step of any event', () => {
    const progress: LedgerEvent = { kind: 'progress', step: 12, stepMs: null, loss: null, unsavedMs: null };
    expect(lanesOf([at(1, progress), at(2, ended('failed', 1))])[0]?.lastStep).toBe(12);
  });

  it('mark an attempt as followed when a later one exists, with or without a recorded end', () => {
    const lanes = lanesOf([at(1, sealed(4), 'a', 1), at(2, sealed(8), 'a', 2)]);
    expect(lanes.map(({ end, isFollowed }) => [end, isFollowed])).toEqual([
      [null, true],
      [null, false],
    ]);
  });

  it('show a run as finished when its newest attempt is', () => {
    const interrupted = at(1, ended('interrupted', 143));
    expect(isFinished(lanesOf([interrupted]))).toBe(false);
    expect(isFinished(lanesOf([interrupted, at(2, ended('finished', 0), 'a', 2)]))).toBe(true);
    expect(isFinished([])).toBe(false);
  });

  it('keep events of unknown kinds', () => {
    const unknown: Recorded = { attempt: 1, node: 'a', seq: 1, atMs: 1, event: { kind: 'unknown', name: 'weather', fields: {} } };
    expect(lanesOf([unknown])[0]?.events).toEqual([unknown]);
  });
});
