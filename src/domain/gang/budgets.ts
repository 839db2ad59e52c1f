import { counted } from '../../core/counted.ts';
import type { EndAction } from './end-action.ts';
import { type ErrorTrace, isSameError } from './same-error.ts';

/**
 * What a run has spent since the last progress of its last good step. Interruptions are counted and
 * cost nothing.
 */
export interface Budgets {
  /** Errors, once per attempt. */
  readonly errors: number;
  /** Ends that were probably interruptions, without proof. */
  readonly doubts: number;
  /** Errors and waits in a row, which make the back-off longer. */
  readonly inARow: number;
  /** The last error, and how often it came in a row. */
  readonly same: { readonly trace: ErrorTrace; readonly times: number } | null;
  /** The furthest last good step; only a step beyond it is progress. Null: none was reported. */
  readonly furthestStep: number | null;
  /** Interruptions of the whole run; progress does not change it. */
  readonly interruptions: number;
}

/** The end of an attempt, for the budgets. */
export interface AttemptEnd {
  readonly action: Exclude<EndAction, 'stay' | 'succeed'>;
  readonly trace: ErrorTrace;
  readonly lastGoodStep: number | null;
  /** Null: unlimited, as in v1. */
  readonly backoffLimit: number | null;
}

/** What becomes of the run after an attempt ended. */
export interface BudgetDecision {
  readonly budgets: Budgets;
  /** `restart`: a new attempt after `delayMs`. */
  readonly outcome: 'restart' | 'fail';
  readonly delayMs: number;
  /** The same error came too often, and no limit ends the run: a person should look. */
  readonly isRepeating: boolean;
  /** A clause that can follow "because"; null for a restart that needs no reason. */
  readonly reason: string | null;
}

/** Before the first attempt. */
export const FULL_BUDGETS: Budgets = { errors: 0, doubts: 0, inARow: 0, same: null, furthestStep: null, interruptions: 0 };

const MOST_DOUBTS = 3;
const MOST_SAME = 3;
const FIRST_DELAY_MS = 10_000;
const LONGEST_DELAY_MS = 10 * 60_000;

/** Notes the last good step: progress refills both budgets. */
export function noteProgress(budgets: Budgets, lastGoodStep: number | null): Budgets {
  if (lastGoodStep === null || (budgets.furthestStep !== null && lastGoodStep <= budgets.furthestStep)) return budgets;
  return { ...FULL_BUDGETS, furthestStep: lastGoodStep, interruptions: budgets.interruptions };
}

/** Decides whether another attempt starts, and when. */
export function spend(before: Budgets, end: AttemptEnd): BudgetDecision {
  const budgets = noteProgress(before, end.lastGoodStep);
  switch (end.action) {
    case 'restart':
      return restart({ ...budgets, interruptions: budgets.interruptions + 1 }, 0);
    case 'doubt':
      if (budgets.doubts >= MOST_DOUBTS) return error(budgets, end);
      return restart({ ...budgets, doubts: budgets.doubts + 1, interruptions: budgets.interruptions + 1 }, 0);
    case 'wait':
      return restart({ ...budgets, inARow: budgets.inARow + 1 }, delay(budgets.inARow));
    case 'spend':
      return error(budgets, end);
    case 'fail':
      return { budgets, outcome: 'fail', delayMs: 0, isRepeating: false, reason: 'its restart policy allows no restart after this error' };
    default:
      return end.action satisfies never;
  }
}

function error(before: Budgets, { trace, backoffLimit }: AttemptEnd): BudgetDecision {
  const times = before.same !== null && isSameError(before.same.trace, trace) ? before.same.times + 1 : 1;
  const budgets = { ...before, errors: before.errors + 1, inARow: before.inARow + 1, same: { trace, times } };
  const isRepeating = times >= MOST_SAME;
  if (backoffLimit !== null && budgets.errors > backoffLimit) {
    const reason = `${counted(budgets.errors, 'error')} without progress are more than its backoffLimit of ${backoffLimit}`;
    return { budgets, outcome: 'fail', delayMs: 0, isRepeating, reason };
  }
  if (backoffLimit !== null && isRepeating) {
    return { budgets, outcome: 'fail', delayMs: 0, isRepeating, reason: `the same error came ${times} times without progress` };
  }
  return { ...restart(budgets, delay(before.inARow)), isRepeating };
}

function restart(budgets: Budgets, delayMs: number): BudgetDecision {
  return { budgets, outcome: 'restart', delayMs, isRepeating: false, reason: null };
}

/**
 * Ten seconds, doubled for each error in a row, at most ten minutes: as the Job controller waits.
 */
function delay(inARow: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(10, inARow));
}
