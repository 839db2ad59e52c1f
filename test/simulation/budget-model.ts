import type { Injury } from './bodies.ts';

/** What a run has spent, counted apart from the operator. */
export interface Spent {
  readonly errors: number;
  readonly doubts: number;
  readonly inARow: number;
  readonly interruptions: number;
  readonly furthest: number | null;
  /** The last error, and how often it came in a row. */
  readonly same: string | null;
  readonly times: number;
}

/** Nothing is spent. */
export const UNSPENT: Spent = { errors: 0, doubts: 0, inARow: 0, interruptions: 0, furthest: null, same: null, times: 0 };

/** What becomes of a run by the documentation. */
export interface Charged {
  readonly spent: Spent;
  readonly fails: boolean;
  /** Until the next pod, in seconds. */
  readonly delay: number;
}

/** Progress gives back everything but the count of interruptions. */
export function refilled(spent: Spent, lastGoodStep: number | null): Spent {
  if (lastGoodStep === null || (spent.furthest !== null && lastGoodStep <= spent.furthest)) return spent;
  return { ...UNSPENT, furthest: lastGoodStep, interruptions: spent.interruptions };
}

/** The rules that a charge depends on. */
export interface Rules {
  readonly policy: string;
  /** Null: unlimited. */
  readonly limit: number | null;
  /** Whether the operator could read the last line of the log. */
  readonly isLogKnown: boolean;
}

/** What the documentation says that an injury costs. */
export function charged(spent: Spent, injury: Injury, rules: Rules): Charged {
  const pause = Math.min(600, 10 * 2 ** spent.inARow);
  switch (injury.kind) {
    case 'interruption':
      return { spent: { ...spent, interruptions: spent.interruptions + 1 }, fails: false, delay: 0 };
    case 'wait':
      return { spent: { ...spent, inARow: spent.inARow + 1 }, fails: false, delay: pause };
    case 'unusable':
      return { spent, fails: true, delay: 0 };
    case 'doubt':
      if (spent.doubts === 3) return errorCharged(spent, injury, rules);
      return { spent: { ...spent, doubts: spent.doubts + 1, interruptions: spent.interruptions + 1 }, fails: false, delay: 0 };
    case 'late':
      return errorCharged(spent, injury, rules);
    case 'error':
      return isFatal(injury, rules) ? { spent, fails: true, delay: 0 } : errorCharged(spent, injury, rules);
  }
}

function isFatal({ exitCode }: Injury, { policy }: Rules): boolean {
  return policy === 'Never' || (policy === 'ExitCode' && exitCode !== null && exitCode < 128);
}

function errorCharged(spent: Spent, { kind, exitCode, line }: Injury, { limit, isLogKnown }: Rules): Charged {
  const same = isLogKnown && kind !== 'late' ? `${exitCode} ${line}` : null;
  const times = same !== null && same === spent.same ? spent.times + 1 : 1;
  const next = { ...spent, errors: spent.errors + 1, inARow: spent.inARow + 1, same, times };
  const fails = limit !== null && (next.errors > limit || times >= 3);
  return { spent: next, fails, delay: Math.min(600, 10 * 2 ** spent.inARow) };
}
