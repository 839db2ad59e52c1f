import type { Rollback } from '../folder/rollback.ts';

interface Known {
  readonly attempt: number;
  readonly step: number;
}

/** What decides the place of a late seal in the run's order. */
export interface HistoryFacts {
  readonly step: number;
  readonly newestAttempt: number;
  /** The checkpoints that count, sealed or in quarantine. */
  readonly counting: readonly Known[];
  /** The checkpoints that a rollback has excluded. */
  readonly rolledBack: readonly Known[];
  readonly rollback: Rollback | null;
  /** True when it was written before the rollback. */
  readonly isBeforeRollback: boolean;
}

/**
 * Returns the attempt to write into a late seal, when the caller names none. Checkpoints are
 * ordered by attempt, then step. A step not beyond the newest one's gets that attempt, so that it
 * sorts behind it, no matter how many attempts followed. A checkpoint that was written before a
 * rollback and has a higher step belongs to the rolled back ones.
 */
export function attemptInHistory({ step, newestAttempt, counting, rolledBack, rollback, isBeforeRollback }: HistoryFacts): number {
  if (rollback === null || !isBeforeRollback || (rollback.to !== null && step <= rollback.to.step)) {
    return besideNewest(step, counting, newestAttempt);
  }
  const { to, throughAttempt } = rollback;
  const before = [...counting, ...rolledBack].filter(({ attempt }) => attempt <= throughAttempt);
  // The target of the rollback may be missing here; its attempt still decides what counts.
  return Math.max(to?.attempt ?? 0, besideNewest(step, before, throughAttempt));
}

function besideNewest(step: number, known: readonly Known[], otherwise: number): number {
  const [newest] = known.toSorted((a, b) => b.attempt - a.attempt || b.step - a.step);
  return newest !== undefined && step <= newest.step ? newest.attempt : otherwise;
}
