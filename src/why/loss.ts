import { acceleratorsOf } from '../kube/objects/pod-spec.ts';
import type { WhyFacts } from './facts/facts.ts';

/** The cost of an end, and the source of the numbers. */
export interface Loss {
  /** The step from which the next attempt resumes; null: from the beginning, or unknown. */
  readonly savedStep: number | null;
  readonly lostSteps: number | null;
  readonly lostMs: number | null;
  readonly accelerators: number | null;
  readonly acceleratorHours: number | null;
  /**
   * `training-run`: the operator recorded it for the whole gang. `pod`: no record of a save exists,
   * so the loss is the container’s run time, an upper bound.
   */
  readonly source: 'ledger' | 'message' | 'training-run' | 'pod';
}

const HOUR_MS = 3_600_000;

/** The saved and the lost work; null if unknown. */
export function lossOf(facts: WhyFacts): Loss | null {
  return byLedger(facts) ?? byMessage(facts) ?? byTrainingRun(facts) ?? byPod(facts);
}

function byLedger({ lane }: WhyFacts): Loss | null {
  if (lane === null) return null;
  const { end } = lane;
  const savedStep = end?.lastGoodStep ?? lane.lastSealedStep ?? lane.resumeStep;
  if (end !== null)
    return withHours({ savedStep, lostSteps: end.lostSteps, lostMs: end.lostMs, accelerators: end.accelerators, source: 'ledger' });
  // The attempt died without a report: counts from the last save to the last record.
  const sealedMs = lane.events.findLast(({ event }) => event.kind === 'save-ended' && event.outcome === 'sealed')?.atMs ?? lane.startedMs;
  const lostSteps = lane.lastStep === null ? null : Math.max(0, lane.lastStep - (savedStep ?? 0));
  const started = lane.events.find(({ event }) => event.kind === 'attempt-started')?.event;
  const accelerators = started?.kind === 'attempt-started' ? started.accelerators : null;
  return withHours({ savedStep, lostSteps, lostMs: Math.max(0, lane.seenMs - sealedMs), accelerators, source: 'ledger' });
}

function byMessage({ message }: WhyFacts): Loss | null {
  if (message === null || message.provisional) return null;
  const { lastGoodStep, lostSteps, lostMs, accelerators } = message;
  return withHours({ savedStep: lastGoodStep, lostSteps, lostMs, accelerators, source: 'message' });
}

function byTrainingRun({ recorded }: WhyFacts): Loss | null {
  if (recorded === null || recorded.end === null) return null;
  const { run, attempt, end } = recorded;
  if (end.lostSeconds === null && end.lostSteps === null) return null;
  const { attempts, progress } = run.record;
  // The progress of the run is that of this attempt until a later one has reported a step.
  const isNewest = !attempts.some(({ number, resumedAt }) => number > attempt.number && resumedAt !== null);
  return withHours({
    savedStep: isNewest ? progress.lastGoodStep : null,
    lostSteps: end.lostSteps,
    lostMs: end.lostSeconds === null ? null : 1000 * end.lostSeconds,
    accelerators: end.accelerators > 0 ? end.accelerators : null,
    source: 'training-run',
  });
}

function byPod({ pod, ended }: WhyFacts): Loss | null {
  if (pod === null || ended === null || ended.startedMs === null || ended.finishedMs === null) return null;
  const lostMs = Math.max(0, ended.finishedMs - ended.startedMs);
  const accelerators = acceleratorsOf(pod.spec);
  return withHours({ savedStep: null, lostSteps: null, lostMs, accelerators: accelerators > 0 ? accelerators : null, source: 'pod' });
}

function withHours(loss: Omit<Loss, 'acceleratorHours'>): Loss {
  const { lostMs, accelerators } = loss;
  return { ...loss, acceleratorHours: lostMs === null || accelerators === null ? null : (lostMs / HOUR_MS) * accelerators };
}
