import type { TerminationMessage } from '../../domain/exit/termination-message.ts';
import { noteProgress } from '../../domain/gang/budgets.ts';
import { timestamp } from '../../kube/api/timestamp.ts';
import { type AttemptEndRecord, type AttemptRecord, goodputOf, type RunRecord, type Totals, withAttempt } from './record.ts';

/** The last good step of a run, as its supervisor said at the end of an attempt. */
export function noteLastGood(record: RunRecord, told: TerminationMessage): RunRecord {
  const { progress, budgets, refund } = record;
  const [step, lastGoodStep] = [countOf(told.step), countOf(told.lastGoodStep)];
  if (told.provisional || lastGoodStep === null || lastGoodStep <= (progress.lastGoodStep ?? -1)) return record;
  const sealedAt = timestamp(told.atMs - (countOf(told.lostMs) ?? 0));
  return {
    ...record,
    progress: { ...progress, step: step ?? progress.step, lastGoodStep, sealedAt },
    budgets: noteProgress(budgets, lastGoodStep),
    refund: refund === null ? null : noteProgress(refund, lastGoodStep),
  };
}

/**
 * Corrects what an attempt has lost. It is closed when its end is noticed, and its trainers may
 * still save after that; the supervisor of rank 0 counts when all is over.
 */
export function noteLostWork(record: RunRecord, number: number, told: TerminationMessage): RunRecord {
  const attempt = record.attempts.find((each) => each.number === number);
  if (told.provisional || attempt === undefined || attempt.end === null || attempt.end.cause === 'FINISHED') return record;
  const { end: before } = attempt;
  const lostMs = countOf(told.lostMs);
  const end: AttemptEndRecord = {
    ...before,
    lostSteps: countOf(told.lostSteps) ?? before.lostSteps,
    lostSeconds: lostMs === null ? before.lostSeconds : Math.round(lostMs / 1000),
  };
  if (end.lostSteps === before.lostSteps && end.lostSeconds === before.lostSeconds) return record;
  return { ...withAttempt(record, number, { end }), totals: corrected(record, attempt, { before, end }) };
}

/** The totals with another loss of one attempt. */
function corrected(
  { totals, firstCreatedAt }: RunRecord,
  { startedAt, detectedAt }: AttemptRecord,
  { before, end }: { readonly before: AttemptEndRecord; readonly end: AttemptEndRecord },
): Totals {
  const endMs = Date.parse(detectedAt ?? '');
  const trained = startedAt === null ? 0 : Math.max(0, Math.round((endMs - Date.parse(startedAt)) / 1000));
  const more = Math.min(trained, end.lostSeconds ?? 0) - Math.min(trained, before.lostSeconds ?? 0);
  const next = {
    ...totals,
    lostSteps: totals.lostSteps + (end.lostSteps ?? 0) - (before.lostSteps ?? 0),
    lostSeconds: totals.lostSeconds + more,
    lostAcceleratorSeconds: totals.lostAcceleratorSeconds + more * (end.accelerators ?? 0),
  };
  return { ...next, goodputPercent: goodputOf(next, firstCreatedAt, endMs) };
}

/** A number of an untrusted text. */
function countOf(value: number | null): number | null {
  return value !== null && value >= 0 && value < 1e15 ? Math.round(value) : null;
}
