import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { Notices } from '../notices.ts';
import { SILENT_MS } from '../signs-of-life.ts';
import { Watcher, type WatcherOptions } from './watcher.ts';
import { passing } from '../../../test/support/passing.ts';

const NOWHERE = { node: null, pressure: [], limits: [] };
/** Threads that never finish: one that is silent, and one that answers whatever it is told. */
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
  const parts = { work: null, clock, book: { warn: (text: string) => void warned.push(text) } };
  watcher = new Watcher({
    ...(parts as unknown as WatcherOptions),
    program: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
  });
  return watcher;
}

describe('the last look at a watched folder', { timeout: 30_000 }, () => {
  it('is not waited for beyond the deadline, and that is told', async () => {
    notices.hear('SIGTERM');
    const finished = watch(SILENT).finish(notices, true);
    await clock.advance(29_700);
    expect(warned).toEqual([]);
    await clock.advance(200);
    expect(warned).toEqual(['what the trainer saved last is not sealed: there was no time left; the next start looks at it']);
    await passing(finished, clock);
  });

  it('is waited for without a deadline as long as something is heard of it, and no longer', async () => {
    const finished = watch(ANSWERS).finish(notices, true);
    // It has answered once, in its own time.
    while (warned.length === 0) await clock.advance(1);
    await clock.advance(SILENT_MS - 1000);
    expect(warned).toEqual(['alive']);
    await clock.advance(1000);
    expect(warned.at(-1)).toBe('what the trainer saved last is not sealed: the disk has not answered for 10m; the next start looks at it');
    await passing(finished, clock);
  });
});
