import { counted } from '../../core/counted.ts';
import { formatDuration } from '../../core/duration.ts';

/**
 * The number of errors after which a run may still restart in place. Interruptions never spend it;
 * progress refills it.
 */
export interface RestartBudget {
  readonly limit: number;
  readonly left: number;
  /** The furthest sealed step so far; only a step beyond it is progress. */
  readonly furthestStep: number | null;
  /** Errors since the last progress. */
  readonly inARow: number;
}

/** How a trainer ended, for the budget. */
export interface TrainerEnd {
  /** `elsewhere`: another node of the gang was interrupted, and this node may restart. */
  readonly kind: 'finished' | 'interruption' | 'interruption-elsewhere' | 'error';
  /** The last good step now. */
  readonly lastGoodStep: number | null;
}

/** Whether to restart, and after which wait. */
export interface RestartDecision {
  readonly budget: RestartBudget;
  readonly restart: boolean;
  /** The wait before the restart; 0 for the first error after progress. */
  readonly delayMs: number;
  readonly sentence: string;
}

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 60_000;

/** A full budget of this many restarts. */
export function makeBudget(limit: number): RestartBudget {
  return { limit, left: limit, furthestStep: null, inARow: 0 };
}

/** Records a sealed step. A step beyond the furthest refills the budget. */
export function refill(budget: RestartBudget, sealedStep: number | null): RestartBudget {
  if (sealedStep === null || (budget.furthestStep !== null && sealedStep <= budget.furthestStep)) return budget;
  return { limit: budget.limit, left: budget.limit, furthestStep: sealedStep, inARow: 0 };
}

/** Whether the supervisor would restart the trainer after an error now. */
export function hasRestartLeft(budget: RestartBudget, sealedStep: number | null): boolean {
  return refill(budget, sealedStep).left > 0;
}

/** Decides whether the supervisor restarts the trainer in place after it ended. */
export function decideRestart(before: RestartBudget, { kind, lastGoodStep }: TrainerEnd): RestartDecision {
  const budget = refill(before, lastGoodStep);
  if (kind === 'finished') return { budget, restart: false, delayMs: 0, sentence: 'the run is finished' };
  if (kind === 'interruption') {
    return { budget, restart: false, delayMs: 0, sentence: 'interrupted: a new attempt resumes, and this spends no restart' };
  }
  const from = lastGoodStep === null ? 'from the beginning' : `from step ${lastGoodStep}`;
  if (kind === 'interruption-elsewhere') {
    const restart = budget.limit > 0;
    return { budget, restart, delayMs: 0, sentence: `restarts ${from} as soon as all nodes are there; an interruption spends no restart` };
  }
  if (budget.left <= 0) {
    return { budget, restart: false, delayMs: 0, sentence: spentSentence(budget) };
  }
  const delayMs = budget.inARow === 0 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(30, budget.inARow - 1));
  const when = delayMs === 0 ? '' : ` in ${formatDuration(delayMs)}`;
  const spent = { ...budget, left: budget.left - 1, inARow: budget.inARow + 1 };
  return {
    budget: spent,
    restart: true,
    delayMs,
    sentence: `restarts ${from}${when}; ${spent.left} of ${counted(budget.limit, 'restart')} left`,
  };
}

function spentSentence({ limit }: RestartBudget): string {
  if (limit === 0) return 'no restarts were allowed (--restarts)';
  return limit === 1 ? 'the only restart is spent without progress' : `all ${limit} restarts are spent without progress`;
}
