import { expect, it } from 'vitest';
import { VirtualClock } from '../core/clock.ts';
import { makeNotice } from '../domain/notice.ts';
import type { LedgerEvent } from '../ledger/events.ts';
import { endTrainer, type EndingOptions } from './ending.ts';
import { Notices } from './notices.ts';
import type { SaveOutcome } from './save-record.ts';

const NOWHERE = { node: null, pressure: [], limits: [] };

/** A trainer whose save of step 8 is being sealed when the notice comes, and which ends when it is told. */
function makeEnding(clock: VirtualClock) {
  const events: LedgerEvent[] = [];
  const notices = new Notices(clock, { graceMs: 6000, from: 'option' }, { onNotice: () => {}, onWithdrawn: () => {} }, () => NOWHERE);
  const gone = Promise.withResolvers<void>();
  const saved = Promise.withResolvers<SaveOutcome>();
  const measured = {
    ...{ step: 10, lastGoodStep: 5, unsavedMs: () => 1000, stepRest: null, busyMs: () => null, lastBytes: 100 },
    write: { medianMs: 4000, p95Ms: 5000, samples: 9 },
    seal: { medianMs: 1500, p95Ms: 2000, samples: 9 },
  };
  const desk = { phase: 'sealing', step: 8, progress: { kind: 'sealing', sinceMs: clock.monotonic(), done: 0, total: 100 } };
  const life = {
    measured,
    desk,
    ranks: { count: 1, agreementMs: 0 },
    saidFinished: false,
    isDiskSilent: true,
    nextSave: () => saved.promise,
  };
  const trainer = { end: { code: 0 }, tell: gone.resolve };
  const book = { record: (event: LedgerEvent) => events.push(event), say: () => {}, complain: () => {} };
  const told = new AbortController();
  const parts = { life, trainer, notices, book, store: { clock }, gone: gone.promise, leaveWord: () => {}, told: told.signal };
  const seal = (): void => {
    Object.assign(desk, { phase: 'idle', step: null, progress: null });
    measured.lastGoodStep = 8;
    saved.resolve({ isSealed: true, step: 8, begunMs: clock.monotonic() - 5000 });
  };
  return { options: parts as unknown as EndingOptions, notices, events, seal };
}

it('beside what sealing the staged save took stands what was predicted for that, whatever is decided afterwards', async () => {
  const clock = new VirtualClock();
  const { options, notices, events, seal } = makeEnding(clock);
  const notice = makeNotice({ cause: 'sigterm', atMs: clock.now(), source: 'signal' });
  notices.add(notice);
  const ended = endTrainer(notice, options);
  await clock.advance(2000);
  seal();
  expect(await ended).toBe('staged-sealed');
  expect(events.flatMap((event) => (event.kind === 'decision' ? [event.outcome] : []))).toEqual(['seal-staged', 'keep-last-good']);
  expect(events.filter(({ kind }) => kind === 'flush-ended')).toMatchObject([
    { outcome: 'staged-sealed', step: 8, tookMs: 2000, predictedMs: 1500, leftMs: 4000 },
  ]);
});
