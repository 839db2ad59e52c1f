import { expect, it } from 'vitest';
import type { LedgerEvent, Recorded } from '../ledger/events.ts';
import { lanesOf } from '../ledger/timeline.ts';
import { answersOfRun } from './subjects.ts';

const NUMBERS = { leftMs: 990, stepRestMs: 5, agreementMs: 0, saveMs: 900, sealMs: 400, reserveMs: 395, medianMs: 500, sealStagedMs: null };

/** An attempt that got SIGTERM, had this long, and needed this long for a last save. */
function ledgerOf(graceMs: number, needMs: number): readonly Recorded[] {
  const isMade = needMs <= graceMs;
  const events: readonly LedgerEvent[] = [
    {
      kind: 'notice',
      cause: 'sigterm',
      noticedMs: 1000,
      deadlineMs: null,
      confidence: 'known',
      terminating: true,
      source: 'signal',
      detail: null,
    },
    {
      kind: 'deadline',
      deadlineMs: 1000 + graceMs,
      graceMs,
      confidence: 'known',
      reasons: [{ deadlineMs: 1000 + graceMs, reason: 'SIGTERM leaves it (--grace)' }],
    },
    {
      kind: 'decision',
      outcome: isMade ? 'flush' : 'keep-last-good',
      sentence: 'decided',
      numbers: { ...NUMBERS, needMs, unsavedMs: 8000, measured: true },
    },
    {
      kind: 'attempt-ended',
      exitCode: 143,
      end: 'interrupted',
      cause: 'sigterm',
      step: 9,
      lastGoodStep: isMade ? 9 : 4,
      lostMs: isMade ? 0 : 8000,
      lostSteps: isMade ? 0 : 5,
      accelerators: 1,
      sentence: 'interrupted, resumable',
    },
  ];
  return events.map((event, index) => ({ attempt: 1, node: 'a', seq: index + 1, atMs: 1000 + index, event }));
}

function answerFrom(events: readonly Recorded[]) {
  const [answer] = answersOfRun({ lanes: lanesOf(events), events });
  if (answer === undefined) throw new Error('there is no attempt');
  return answer;
}

it('a ledger alone does not show who sent SIGTERM, but whether the save fitted, and the grace that it needed', () => {
  const { judgement, fit, setting, loss } = answerFrom(ledgerOf(1000, 1700));
  expect(judgement).toMatchObject({ cause: 'CANNOT_TELL', missing: [expect.stringContaining('pod/NAME') as unknown] });
  expect(fit).toMatchObject({ graceMs: 1000, decidedMs: 1700, fits: false });
  expect(loss).toMatchObject({ lostSteps: 5, lostMs: 8000 });
  expect(setting).toMatchObject({ setting: 'terminationGracePeriodSeconds', value: '8', gainMs: 8000 });
});

it('a ledger alone asks for no other setting if the last save fitted', () => {
  const { fit, setting } = answerFrom(ledgerOf(30_000, 1700));
  expect(fit).toMatchObject({ fits: true });
  expect(setting).toBeNull();
});
