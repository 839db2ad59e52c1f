import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { VirtualClock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import { openLedger } from '../../ledger/writer.ts';
import { wasLastMoveOurs } from './own-move.ts';
import { StartPatience } from './start-patience.ts';

const MINUTE = 60_000;
const never = (): Promise<never> => new Promise(() => {});
const { signal } = new AbortController();

function setUp(patienceMs = 10 * MINUTE) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const patience = new StartPatience({ url: 's3://b/run', clock, patienceMs, onWait: (sentence) => told.push(sentence) });
  return { clock, told, patience };
}

/** How the question ended, and after how long. */
function outcomeOf(clock: VirtualClock, asked: Promise<unknown>): { readonly end: string | null; readonly afterMs: number } {
  const outcome: { end: string | null; afterMs: number } = { end: null, afterMs: 0 };
  const note = (end: string): void => void Object.assign(outcome, { end, afterMs: clock.monotonic() });
  asked.then(String, (thrown: unknown) => (thrown instanceof HoldfastError ? thrown.code : String(thrown))).then(note, note);
  return outcome;
}

describe('the start of a run over a silent store', () => {
  it('continues without the store after one minute if it may, and reports what it waits for', async () => {
    const { clock, told, patience } = setUp();
    const outcome = outcomeOf(clock, patience.ask({ signal, isOptional: true, ask: never }));
    await clock.advance(MINUTE - 1);
    expect([outcome.end, told]).toEqual([null, [expect.stringContaining('the start waits for s3://b/run')]]);
    await clock.advance(1);
    expect(outcome).toEqual({ end: 'REMOTE_UNAVAILABLE', afterMs: MINUTE });
    // The next question of the same start does not wait again.
    const next = outcomeOf(clock, patience.ask({ signal, isOptional: true, ask: never }));
    await clock.advance(1);
    expect(next.end).toBe('REMOTE_UNAVAILABLE');
  });

  it('retries if it needs an answer, and fails when its time limit ends', async () => {
    const { clock, patience } = setUp();
    let asked = 0;
    const outcome = outcomeOf(clock, patience.ask({ signal, isOptional: false, ask: () => (asked++, never()) }));
    await clock.advance(9 * MINUTE);
    expect(outcome.end).toBeNull();
    await clock.advance(MINUTE);
    expect(outcome.end).toBe('REMOTE_UNAVAILABLE');
    expect(asked).toBeGreaterThan(5);
  });

  it('accepts a late answer', async () => {
    const { clock, patience } = setUp();
    let asked = 0;
    const answer = patience.ask({ signal, isOptional: false, ask: () => (++asked < 4 ? never() : Promise.resolve('copies')) });
    await clock.advance(5 * MINUTE);
    expect(await answer).toBe('copies');
  });

  it('waits while a copy makes progress, and treats a very slow one as silent', async () => {
    for (const [bytes, end] of [
      [1024 * 1024, null],
      [30, 'REMOTE_UNAVAILABLE'],
    ] as const) {
      const { clock, patience } = setUp();
      const ask = async (over: AbortSignal, onProgress: (done: number) => void): Promise<void> => {
        for (let done = 0; ; done += bytes) {
          onProgress(done);
          await clock.sleep(30_000, { signal: over });
        }
      };
      const outcome = outcomeOf(clock, patience.ask({ signal, isOptional: true, ask }));
      await clock.advance(30 * MINUTE);
      expect(outcome.end).toBe(end);
    }
  });

  it('does not retry an error that no wait can fix', async () => {
    const { clock, patience } = setUp();
    const refused = (): Promise<never> => Promise.reject(new HoldfastError('CREDENTIALS_REFUSED', { message: 'no' }));
    const outcome = outcomeOf(clock, patience.ask({ signal, isOptional: false, ask: refused }));
    await clock.advance(1);
    expect(outcome.end).toBe('CREDENTIALS_REFUSED');
  });
});

describe('whether a folder may start without its copies', () => {
  const url = 's3://b/run';
  const shipped: LedgerEvent = { kind: 'shipped', step: 80, url, bytes: 1, totalMs: 1 };
  const fetched: LedgerEvent = { kind: 'fetched', step: 80, url, bytes: 1, totalMs: 1 };
  const failed: LedgerEvent = { kind: 'ship-failed', step: 90, url, problem: 'x' };
  const passed: LedgerEvent = { kind: 'note', level: 'warning', code: 'REMOTE_CONFLICT', sentence: 'x' };
  it.each<[string, readonly LedgerEvent[], boolean]>([
    ['it may not when it never shipped', [], false],
    ['it may when the last thing was a move of the pointer from here', [fetched, shipped], true],
    ['it may when an upload failed after that', [shipped, failed], true],
    ['it may not when it fetched another node’s copy last', [shipped, fetched], false],
    ['it may not when the pointer stayed at a newer checkpoint', [shipped, passed], false],
    ['it may not when it shipped elsewhere', [{ ...shipped, url: 's3://b/other' }], false],
  ])('%s', async (_, events, may) => {
    using folder = tempFolder(MEMORY);
    mkdirSync(join(folder.path, '.holdfast'));
    const ledger = openLedger(folder.path, { attempt: 1, node: 'n', clock: new VirtualClock(), onFailure: () => {} });
    for (const event of events) ledger.append(event);
    await ledger.close();
    expect(wasLastMoveOurs(folder.path, url)).toBe(may);
  });
});
