import type { Rollback } from './rollback.ts';

interface Known {
  readonly attempt: number;
  readonly step: number;
}

export interface HistoryFacts {
  readonly step: number;
  readonly newestAttempt: number;
  /** What the run has that counts, sealed or in quarantine. */
  readonly counting: readonly Known[];
  /** What a rollback has taken out of it. */
  readonly rolledBack: readonly Known[];
  readonly rollback: Rollback | null;
  /** It was written before the run was rolled back. */
  readonly isBeforeRollback: boolean;
}

/**
 * The attempt that is named by the seal of a checkpoint that another tool has made, when nobody says which. What counts is ordered by attempt, then step: so one
 * whose step is not beyond that of the newest belongs beside that one, behind it, however many attempts were started since; and one that lay
 * there when the run was rolled back from steps like it belongs to what was left behind.
 */
export function attemptInHistory({ step, newestAttempt, counting, rolledBack, rollback, isBeforeRollback }: HistoryFacts): number {
  if (rollback === null || !isBeforeRollback || (rollback.to !== null && step <= rollback.to.step)) {
    return besideNewest(step, counting, newestAttempt);
  }
  const { to, throughAttempt } = rollback;
  const before = [...counting, ...rolledBack].filter(({ attempt }) => attempt <= throughAttempt);
  // Where what the run was rolled back to is not here, it still says what counts.
  return Math.max(to?.attempt ?? 0, besideNewest(step, before, throughAttempt));
}

function besideNewest(step: number, known: readonly Known[], otherwise: number): number {
  const [newest] = known.toSorted((a, b) => b.attempt - a.attempt || b.step - a.step);
  return newest !== undefined && step <= newest.step ? newest.attempt : otherwise;
}
