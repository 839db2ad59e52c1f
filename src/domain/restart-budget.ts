import { formatDuration } from '../core/duration.ts';

/** How many errors a run may still make in place. Interruptions never spend it; progress refills it. */
export interface RestartBudget {
  readonly limit: number;
  readonly left: number;
  /** The furthest sealed step so far; only what goes beyond it is progress. */
  readonly furthestStep: number | null;
  /** Errors since the last progress. */
  readonly inARow: number;
}

/** How a trainer ended, as far as the budget is concerned. */
export interface TrainerEnd {
  /** An interruption elsewhere is one of another node of the gang: this one is free to go on. */
  readonly kind: 'finished' | 'interruption' | 'interruption-elsewhere' | 'error';
  /** The last good step now. */
  readonly lastGoodStep: number | null;
}

export interface RestartDecision {
  readonly budget: RestartBudget;
  readonly restart: boolean;
  /** How long to wait before it; 0 for the first error after progress. */
  readonly delayMs: number;
  readonly sentence: string;
}

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 60_000;

export function makeBudget(limit: number): RestartBudget {
  return { limit, left: limit, furthestStep: null, inARow: 0 };
}

/** Notes a sealed step: beyond the furthest, the budget is full again. */
export function refill(budget: RestartBudget, sealedStep: number | null): RestartBudget {
  if (sealedStep === null || (budget.furthestStep !== null && sealedStep <= budget.furthestStep)) return budget;
  return { limit: budget.limit, left: budget.limit, furthestStep: sealedStep, inARow: 0 };
}

/** Whether an error now would be followed by another life. */
export function hasRestartLeft(budget: RestartBudget, sealedStep: number | null): boolean {
  return refill(budget, sealedStep).left > 0;
}

/** Whether the trainer is started again in place after it ended. */
export function decideRestart(before: RestartBudget, { kind, lastGoodStep }: TrainerEnd): RestartDecision {
  const budget = refill(before, lastGoodStep);
  if (kind === 'finished') return { budget, restart: false, delayMs: 0, sentence: 'the run is finished' };
  if (kind === 'interruption') {
    return { budget, restart: false, delayMs: 0, sentence: 'interrupted: that spends no restart, and a new attempt goes on' };
  }
  const from = lastGoodStep === null ? 'from the beginning' : `from step ${lastGoodStep}`;
  if (kind === 'interruption-elsewhere') {
    const restart = budget.limit > 0;
    return { budget, restart, delayMs: 0, sentence: `restarts ${from} as soon as all nodes are there; an interruption spends no restart` };
  }
  if (budget.left <= 0) {
    const why = budget.limit === 0 ? 'no restarts were allowed (--restarts)' : `all ${budget.limit} restarts are spent without progress`;
    return { budget, restart: false, delayMs: 0, sentence: why };
  }
  const delayMs = budget.inARow === 0 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(30, budget.inARow - 1));
  const when = delayMs === 0 ? '' : ` in ${formatDuration(delayMs)}`;
  const spent = { ...budget, left: budget.left - 1, inARow: budget.inARow + 1 };
  return { budget: spent, restart: true, delayMs, sentence: `restarts ${from}${when}; ${spent.left} of ${budget.limit} restarts left` };
}
