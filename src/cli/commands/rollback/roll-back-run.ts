import { findSealed, rollBack, undoRollback } from '../../../store/attempt/roll-back.ts';
import type { Rollback } from '../../../store/folder/rollback.ts';
import { openExistingRun } from '../../../store/folder/store.ts';
import type { Clock } from '../../../core/clock.ts';

interface RollBackOptions {
  /** A step or a name; null to start fresh. */
  readonly to: string | null;
  readonly isUndo: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface RollBackReport {
  readonly schema: 'holdfast.rollback/1';
  readonly to: Rollback['to'];
  readonly throughAttempt: number | null;
  /** With --undo: true when there was a decision to forget. */
  readonly isUndone: boolean | null;
}

/** Rolls the run at a path back, or undoes that, and returns the report. */
export async function rollBackRun(path: string, { to, isUndo, clock, signal }: RollBackOptions): Promise<RollBackReport> {
  const store = openExistingRun(path, { clock });
  const schema = 'holdfast.rollback/1';
  if (isUndo) return { schema, to: null, throughAttempt: null, isUndone: undoRollback(store) };
  const decision = await rollBack(store, to === null ? null : findSealed(store, to), { signal });
  return { schema, ...decision, isUndone: null };
}
