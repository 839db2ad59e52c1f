import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { Notices } from '../notices/notices.ts';
import { SILENT_MS } from '../base/stall-timer.ts';
import type { RunHistory } from '../../ledger/history.ts';
import { Measurements } from '../session/measurements.ts';
import { Watcher, type WatcherOptions } from './watcher.ts';
import { passing } from '../../../test/support/passing.ts';

const NOWHERE = { node: null, pressure: [], limits: [] };
/** Threads that never finish: one is silent, and one answers every message. */
const SILENT = 'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => {})';
const ANSWERS =
  'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => parentPort.postMessage({ type: "note", text: "alive" }))';

let clock: VirtualClock;
let notices: Notices;
let warned: string[];
let watcher: Watcher;

beforeEach(() => {
  [clock, warned] = [new VirtualClock(), []];
  notices = new Notices(clock, { graceMs: 30_000, from: 'option' }, { onNotice: () => {}, onWithdrawn: () => {} }, () => NOWHERE);
});

afterEach(async () => {
  await watcher.stop(0);
});

function watch(program: string): Watcher {
  const parts = { work: null, clock, log: { warn: (text: string) => void warned.push(text) } };
  watcher = new Watcher({
    ...(parts as unknown as WatcherOptions),
    program: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
  });
  return watcher;
}

describe('the last look at a watched folder', () => {
  it('is abandoned at the deadline with a warning', async () => {
    notices.hear('SIGTERM');
    const finished = watch(SILENT).finish(notices, true);
    await clock.advance(29_700);
    expect(warned).toEqual([]);
    await clock.advance(200);
    expect(warned).toEqual(['the last save of the trainer is not sealed: there was no time left; the next start checks it']);
    await passing(finished, clock);
  });

  it('is awaited without a deadline for as long as the thread reports, and no longer', async () => {
    const finished = watch(ANSWERS).finish(notices, true);
    // The thread has answered once.
    while (warned.length === 0) await clock.advance(1);
    await clock.advance(SILENT_MS - 1000);
    expect(warned).toEqual(['alive']);
    await clock.advance(1000);
    expect(warned.at(-1)).toBe('the last save of the trainer is not sealed: the disk has not answered for 10m; the next start checks it');
    await passing(finished, clock);
  });
});

describe('the lost work of a watched run', () => {
  it('is counted from the time at which the save that resume takes was written', async () => {
    const sealed = { type: 'sealed', name: 'a', path: '/a', save: 's', step: 20, bytes: 1, totalMs: 1, newest: { step: 40, ageMs: 3000 } };
    const program = `import { parentPort } from "node:worker_threads"; parentPort.postMessage(${JSON.stringify(sealed)}); parentPort.on("message", () => {})`;
    await clock.advance(10_000);
    const measured = new Measurements(0, 10, () => ({ writes: [], stalls: [], seals: [] }) as unknown as RunHistory);
    measured.noteWatched();
    const safe = Promise.withResolvers<void>();
    const log = { record: () => {}, say: () => {}, warn: () => {} };
    watcher = new Watcher({
      ...({ work: null, clock, log, measured, onSafe: safe.resolve } as unknown as WatcherOptions),
      program: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
    });
    await safe.promise;
    expect([measured.lastGoodStep, measured.unsavedMs(clock.monotonic())]).toEqual([40, 3000]);
  });
});
