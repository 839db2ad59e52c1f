import { expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { makeNotice } from '../../domain/grace/notice.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import { endTrainer, type EndingOptions } from './ending.ts';
import { Notices } from '../notices/notices.ts';
import type { SaveOutcome } from '../session/save-record.ts';

const NOWHERE = { node: null, pressure: [], limits: [] };

/**
 * Starts a trainer whose save of step 8 is being sealed when the notice comes; it exits on SIGTERM.
 */
function makeEnding(clock: VirtualClock, isHung = false) {
  const [events, asked]: [LedgerEvent[], string[]] = [[], []];
  const notices = new Notices(clock, { graceMs: 6000, from: 'option' }, { onNotice: () => {}, onWithdrawn: () => {} }, () => NOWHERE);
  const gone = Promise.withResolvers<void>();
  const saved = Promise.withResolvers<SaveOutcome>();
  const measured = {
    ...{ step: 10, lastGoodStep: 5, unsavedMs: () => 1000, stepRest: null, busyMs: () => null, lastBytes: 100 },
    judgeHang: () => ({ isHung, quietMs: 9000, limitMs: 3000, sentence: 'no step for 9s' }),
    write: { medianMs: 4000, p95Ms: 5000, samples: 9 },
    seal: { medianMs: 1500, p95Ms: 2000, samples: 9 },
  };
  const coordinator = { phase: 'sealing', step: 8, progress: { kind: 'sealing', sinceMs: clock.monotonic(), done: 0, total: 100 } };
  const session = {
    measured,
    coordinator,
    ranks: { count: 1, agreementMs: 0, canAgree: false, relax: () => {} },
    ask: () => asked.push('flush'),
    saidFinished: false,
    isDiskSilent: true,
    nextSave: () => saved.promise,
  };
  const trainer = { end: { code: 0 }, tell: gone.resolve };
  const log = { record: (event: LedgerEvent) => events.push(event), say: () => {}, complain: () => {} };
  const told = new AbortController();
  const parts = {
    session,
    trainer,
    notices,
    log,
    store: { clock },
    gone: gone.promise,
    rules: { multiple: 0, leastMs: 3000, patientMs: 3000 },
    leaveWord: () => {},
    told: told.signal,
  };
  const seal = (): void => {
    Object.assign(coordinator, { phase: 'idle', step: null, progress: null });
    measured.lastGoodStep = 8;
    saved.resolve({ isSealed: true, step: 8, begunMs: clock.monotonic() - 5000 });
  };
  return { options: parts as unknown as EndingOptions, notices, events, asked, coordinator, seal };
}

it('the ledger records the time of sealing the staged save beside its prediction, whatever is decided afterwards', async () => {
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

it('the supervisor asks a hung trainer for no flush and seals the save that it had handed over', async () => {
  const clock = new VirtualClock();
  const { options, notices, events, asked, seal } = makeEnding(clock, true);
  const notice = makeNotice({ cause: 'sigterm', atMs: clock.now(), source: 'signal' });
  notices.add(notice);
  const ended = endTrainer(notice, options);
  await clock.advance(500);
  seal();
  expect(await ended).toBe('staged-sealed');
  const sentences = events.flatMap((event) => (event.kind === 'decision' ? [event.sentence] : []));
  expect(sentences[0]).toMatch(/^seal the staged step 8 .*; no flush: the trainer hangs: no step for 9s$/);
  expect(sentences[1]).toMatch(/^no flush: the trainer hangs: no step for 9s/);
  expect(asked).toEqual([]);
});

it('a hung trainer with nothing staged gets SIGTERM at once and keeps its last good checkpoint', async () => {
  const clock = new VirtualClock();
  const { options, notices, asked, coordinator } = makeEnding(clock, true);
  Object.assign(coordinator, { phase: 'idle', step: null, progress: null });
  const notice = makeNotice({ cause: 'sigterm', atMs: clock.now(), source: 'signal' });
  notices.add(notice);
  expect(await endTrainer(notice, options)).toBe('refused');
  expect([asked, clock.monotonic()]).toEqual([[], 0]);
});

it('the supervisor of one node asks for no flush when its ranks cannot agree on a step with the other nodes', async () => {
  const clock = new VirtualClock();
  const { options, notices, events, asked, coordinator } = makeEnding(clock);
  Object.assign(coordinator, { phase: 'idle', step: null, progress: null });
  const notice = makeNotice({ cause: 'sigterm', atMs: clock.now(), source: 'signal' });
  notices.add(notice);
  expect(await endTrainer(notice, { ...options, isOneOfMany: true })).toBe('refused');
  expect([asked, clock.monotonic()]).toEqual([[], 0]);
  const sentences = events.flatMap((event) => (event.kind === 'decision' ? [event.sentence] : []));
  expect(sentences[0]).toContain('no flush: the ranks of the other nodes cannot be asked for the same step; the last good stays step 5');
});
