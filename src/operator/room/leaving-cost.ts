import type { AttemptRecord, RunRecord } from '../training-run/record.ts';

/** What the leaving of a gang costs, as far as it was measured. Null: never measured. */
export interface LeavingCost {
  /** The P95 of a save. */
  readonly saveSeconds: number | null;
  /** From the end of the gang until its last pod is gone. */
  readonly teardownSeconds: number | null;
  /** From the end of an attempt to the first step of the next. */
  readonly restartSeconds: number | null;
  /** What a kill would lose now. */
  readonly unsavedSeconds: number | null;
  readonly accelerators: number;
}

/**
 * Reads the measurements of a run. The accelerators that its pods hold count; without any, its
 * ranks do: one process may use all accelerators of its pod.
 */
export function leavingCostOf({ attempts, progress }: RunRecord, accelerators: number, nowMs: number): LeavingCost {
  const startedAt = attempts.at(-1)?.startedAt ?? null;
  const since = [progress.sealedAt, startedAt].filter((time) => time !== null).map((time) => Date.parse(time));
  return {
    saveSeconds: progress.saveSeconds,
    teardownSeconds: newest(attempts, ({ detectedAt, tornDownAt }) => [detectedAt, tornDownAt]),
    restartSeconds: newest(attempts, ({ resumedAt }, before) => [before?.detectedAt ?? null, resumedAt]),
    unsavedSeconds: since.length === 0 ? null : Math.max(0, (nowMs - Math.max(...since)) / 1000),
    accelerators: accelerators > 0 ? accelerators : Math.max(1, progress.accelerators ?? 1),
  };
}

type Span = readonly [from: string | null, to: string | null];

/** The newest span that was measured, in seconds. */
function newest(
  attempts: readonly AttemptRecord[],
  spanOf: (attempt: AttemptRecord, before: AttemptRecord | undefined) => Span,
): number | null {
  const spans = attempts.flatMap((attempt, index) => {
    const [from, to] = spanOf(attempt, attempts[index - 1]);
    const seconds = from === null || to === null ? null : (Date.parse(to) - Date.parse(from)) / 1000;
    return seconds === null || seconds < 0 ? [] : [seconds];
  });
  return spans.at(-1) ?? null;
}

/**
 * What is lost although the gang saves first, in seconds of one accelerator: the save, the restart,
 * and all unsaved work where no save is known to fit the deadline. A save that was never measured
 * counts with the whole deadline, a restart with the longest of the other gangs.
 */
export function acceleratorSecondsLost(cost: LeavingCost, deadlineMs: number, others: readonly LeavingCost[]): number {
  const deadlineSeconds = deadlineMs / 1000;
  const save = Math.min(cost.saveSeconds ?? deadlineSeconds, deadlineSeconds);
  const restart = cost.restartSeconds ?? Math.max(0, ...others.map(({ restartSeconds }) => restartSeconds ?? 0));
  const keeps = cost.saveSeconds !== null && cost.saveSeconds <= deadlineSeconds;
  return cost.accelerators * (save + restart + (keeps ? 0 : (cost.unsavedSeconds ?? 0)));
}
