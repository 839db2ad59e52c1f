import { expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { passing } from '../../../test/support/passing.ts';
import { parseLocation } from '../../checkpoint/ship/location.ts';
import { VirtualClock } from '../../core/clock.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import type { Book } from '../book.ts';
import { Notices } from '../notices.ts';
import { SILENT_MS } from '../signs-of-life.ts';
import { Shipper } from './shipper.ts';

/** A thread that begins, and says nothing any more. */
const SILENT = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ type }) => (type === 'stop' ? parentPort.close() : parentPort.postMessage({ type: 'progress', done: 1 })));`;

function ship(clock: VirtualClock, run: ReturnType<typeof testRun>) {
  const told: string[] = [];
  const failed: (string | null)[] = [];
  const location = parseLocation('file:///nonexistent/copies');
  if (!location.ok) throw new Error(location.reason);
  const book = {
    say: (text: string) => void told.push(text),
    shout: (text: string) => void told.push(text),
    record: (event: LedgerEvent) => void (event.kind === 'ship-failed' && failed.push(event.problem)),
  } as unknown as Book;
  const program = new URL(`data:text/javascript,${encodeURIComponent(SILENT)}`);
  const shipper = new Shipper({ store: run.store, ship: { location: location.value, limit: null }, env: {}, book, program });
  const notices = new Notices(clock, { graceMs: 30_000, from: 'option' }, { onNotice: () => {}, onWithdrawn: () => {} }, () => ({
    node: null,
    pressure: [],
    limits: [],
  }));
  return { shipper, notices, told, failed };
}

it('a copy of which nothing moves any more is not waited for, also without a deadline; that is told, and the thread can be ended', async () => {
  const clock = new VirtualClock();
  using run = testRun({ clock });
  await sealSteps(run.store, 'g', 5);
  const { shipper, notices, told, failed } = ship(clock, run);
  await passing(shipper.finish(notices, false), clock, 1000);
  expect(clock.monotonic()).toBeGreaterThanOrEqual(SILENT_MS);
  expect(failed).toEqual(['step 5 is not shipped: nothing has moved for 10m; the next start goes on with it']);
  expect(told.at(-1)).toContain('of step 5 to file:///nonexistent/copies failed');
  expect(await passing(shipper.close(1000, false), clock)).toBe(true);
});

it('of a disk that does not answer nothing is asked at the end', async () => {
  const clock = new VirtualClock();
  using run = testRun({ clock });
  await sealSteps(run.store, 'g', 5);
  const { shipper, notices, failed } = ship(clock, run);
  await shipper.finish(notices, true);
  expect(failed).toEqual(['the disk of the run does not answer; the next start goes on with it']);
  expect(await passing(shipper.close(1000, true), clock)).toBe(true);
});
