import { expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { passing } from '../../../test/support/passing.ts';
import { parseLocation } from '../../remote/backends/location.ts';
import { VirtualClock } from '../../core/clock.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import type { RunLog } from '../base/run-log.ts';
import { Notices } from '../notices/notices.ts';
import { SILENT_MS } from '../base/stall-timer.ts';
import { Shipper } from './shipper.ts';

/** A thread that names what is missing and then ships nothing. */
const IDLE = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ type, id }) => {
    if (type === 'stop') parentPort.close();
    else if (type === 'missing') parentPort.postMessage({ type, id, newest: { step: 5, bytes: 10 } });
    else parentPort.postMessage({ type: 'progress', done: 1 });
  });`;

/** A thread that waits for a disk. */
const STUCK = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ type }) => type === 'stop' && parentPort.close());`;

function ship(clock: VirtualClock, run: ReturnType<typeof testRun>, thread = IDLE) {
  const told: string[] = [];
  const failed: (string | null)[] = [];
  const location = parseLocation('file:///nonexistent/copies');
  if (!location.ok) throw new Error(location.reason);
  const log = {
    say: (text: string) => void told.push(text),
    shout: (text: string) => void told.push(text),
    record: (event: LedgerEvent) => void (event.kind === 'ship-failed' && failed.push(event.problem)),
  } as unknown as RunLog;
  const program = new URL(`data:text/javascript,${encodeURIComponent(thread)}`);
  const shipper = new Shipper({ store: run.store, ship: { location: location.value, limit: null }, env: {}, log, program });
  const notices = new Notices(clock, { graceMs: 30_000, from: 'option' }, { onNotice: () => {}, onWithdrawn: () => {} }, () => ({
    node: null,
    pressure: [],
    limits: [],
  }));
  return { shipper, notices, told, failed };
}

it('the end of a run does not wait for a copy without progress, even without a deadline; it reports this, and the thread can be ended', async () => {
  const clock = new VirtualClock();
  using run = testRun({ clock });
  await sealSteps(run.store, 'g', 5);
  const { shipper, notices, told, failed } = ship(clock, run);
  const finished = shipper.finish(notices, false);
  // The thread answers in real time.
  while (told.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await passing(finished, clock, 1000);
  expect(clock.monotonic()).toBeGreaterThanOrEqual(SILENT_MS);
  expect(failed).toEqual(['step 5 is not shipped: nothing has moved for 10m; the next start continues the upload']);
  expect(told.at(-1)).toContain('of step 5 to file:///nonexistent/copies failed');
  expect(await passing(shipper.close(1000, false), clock)).toBe(true);
});

it('the end of a run does not wait past the deadline for a thread that a disk has stopped', async () => {
  const clock = new VirtualClock();
  using run = testRun({ clock });
  const { shipper, notices, failed } = ship(clock, run, STUCK);
  notices.hear('SIGTERM');
  await passing(shipper.finish(notices, false), clock, 100);
  expect(clock.now()).toBeLessThan(notices.deadline?.deadlineMs ?? 0);
  expect(failed).toEqual(['it is unknown which checkpoints are left to ship: there was no time left; the next start continues the upload']);
  expect(await passing(shipper.close(1000, false), clock)).toBe(true);
});

it('the end of a run does not touch a disk that does not answer', async () => {
  const clock = new VirtualClock();
  using run = testRun({ clock });
  await sealSteps(run.store, 'g', 5);
  const { shipper, notices, failed } = ship(clock, run);
  await shipper.finish(notices, true);
  expect(failed).toEqual(['the disk of the run does not answer; the next start continues the upload']);
  expect(await passing(shipper.close(1000, true), clock)).toBe(true);
});
