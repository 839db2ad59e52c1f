import { type CauseGrace, causeGrace, GRACE_CAUSES, possibleCauses } from '../domain/grace/cause-grace.ts';
import type { PodGrace } from '../domain/grace/pod-grace.ts';
import { type Change, bestChange } from './change.ts';

/** A cautious duration of a save, and its source. */
export interface SaveNeed {
  readonly ms: number;
  readonly from: string;
}

/**
 * `saves`: a save fits the time. `loses`: it does not fit, and up to one interval between saves is
 * lost. `deaf`: the program gets no signal, and loses as much. `unknown`: the duration of a save is
 * unknown.
 */
export type Verdict = 'saves' | 'loses' | 'deaf' | 'unknown';

/** One cause, the time that it leaves, and whether a save fits. */
export interface GraceLine extends CauseGrace {
  readonly title: string;
  readonly verdict: Verdict;
}

/** The report of `grace` about one kind of pod. */
export interface GraceReport {
  readonly subject: string;
  readonly pod: PodGrace;
  readonly save: SaveNeed | null;
  readonly lines: readonly GraceLine[];
  /** The one change that turns most lines green; null if no change does. */
  readonly change: Change | null;
}

/** Judges every cause that can end the pod. */
export function graceReport(subject: string, pod: PodGrace, save: SaveNeed | null): GraceReport {
  const lines = linesOf(pod, save);
  return { subject, pod, save, lines, change: save === null ? null : bestChange(pod, save.ms, (changed, ms) => savedBy(changed, ms)) };
}

function linesOf(pod: PodGrace, save: SaveNeed | null): readonly GraceLine[] {
  return possibleCauses(pod).map((cause) => {
    const line = causeGrace(cause, pod);
    return { ...line, title: GRACE_CAUSES[cause], verdict: verdictOf(line, save?.ms ?? null) };
  });
}

/** The causes that leave enough time for a save. */
function savedBy(pod: PodGrace, saveMs: number): ReadonlySet<string> {
  const saved = possibleCauses(pod).filter((cause) => verdictOf(causeGrace(cause, pod), saveMs) === 'saves');
  return new Set(saved);
}

/** Whether a save of this length fits the time that a cause leaves. */
function verdictOf({ graceMs, isTold, isHeard }: CauseGrace, saveMs: number | null): Verdict {
  if (!isTold || !isHeard) return 'deaf';
  if (saveMs === null) return 'unknown';
  return saveMs <= graceMs ? 'saves' : 'loses';
}
