import type { CampaignResult } from './campaign.ts';
import type { Phase } from './phases.ts';
import type { Subject } from './subjects.ts';

type Counts = Record<string, number>;

/** The outcomes of the injections of many campaigns. */
export interface Tally {
  injections: number;
  /**
   * Pairs of a use of a system call and a fault in the exhaustive campaigns, and how many of them
   * were made.
   */
  pairs: number;
  pairsMade: number;
  readonly ends: Counts;
  readonly bySubject: Counts;
  /** By phase, then by fault. */
  readonly byPhase: Partial<Record<Phase, Counts>>;
  /** By system call, then by fault. */
  readonly byCall: Record<string, Counts>;
  /** Bad outcomes. */
  readonly faults: string[];
  /** Missing coverage: the run was too short. This is no bad outcome. */
  readonly missing: string[];
}

export function emptyTally(): Tally {
  return { injections: 0, pairs: 0, pairsMade: 0, ends: {}, bySubject: {}, byPhase: {}, byCall: {}, faults: [], missing: [] };
}

export function addCampaign(tally: Tally, subject: Subject, { made, faults, possible }: CampaignResult, isExhaustive: boolean): void {
  if (isExhaustive) {
    tally.pairs += possible;
    tally.pairsMade += made.length;
  }
  tally.injections += made.length;
  tally.faults.push(...faults);
  for (const { call, fault, phase, end } of made) {
    count(tally.ends, end);
    count(tally.bySubject, subject);
    count((tally.byPhase[phase] ??= {}), fault);
    count((tally.byCall[call] ??= {}), fault);
  }
}

function count(counts: Counts, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

/** Phases with fewer injections than this, over all faults. */
export function thinPhases({ byPhase }: Tally, phases: readonly Phase[], least: number): string[] {
  return [...new Set(phases)].flatMap((phase) => {
    const made = Object.values(byPhase[phase] ?? {}).reduce((sum, one) => sum + one, 0);
    return made >= least ? [] : [`only ${made} injections came to the phase "${phase}", at least ${least} must`];
  });
}
