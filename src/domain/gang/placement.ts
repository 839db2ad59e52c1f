import { END_CAUSES, type EndCause } from '../causes/catalogue.ts';

/** The machines that an attempt runs on: those that the cloud may take back, or others. */
export type Placement = 'spot' | 'on-demand';

/** An attempt that has ended. Times are milliseconds since 1970. */
export interface PlacedAttempt {
  readonly placement: Placement | null;
  readonly cause: EndCause;
  readonly endedMs: number;
}

/** Where an attempt runs, and why, as a clause that can follow "because". */
export interface PlacementChoice {
  readonly placement: Placement;
  readonly reason: string;
}

const WINDOW_MS = 60 * 60_000;
const MOST_INTERRUPTIONS = 3;

/**
 * Chooses the machines of an attempt that prefers Spot: on demand after an attempt that found no
 * Spot machine, or after three interruptions within an hour without progress. Every attempt after
 * one on demand tries Spot again.
 */
export function choosePlacement(
  ended: readonly PlacedAttempt[],
  { progressMs, nowMs }: { readonly progressMs: number | null; readonly nowMs: number },
): PlacementChoice {
  const last = ended.at(-1);
  if (last?.placement === 'spot' && last.cause === 'POD_UNSCHEDULABLE') {
    return { placement: 'on-demand', reason: 'there was no room on Spot machines' };
  }
  const sinceMs = Math.max(nowMs - WINDOW_MS, progressMs ?? 0);
  const interruptions = ended.filter(
    ({ placement, cause, endedMs }) => placement === 'spot' && END_CAUSES[cause].family === 'interruption' && endedMs > sinceMs,
  );
  if (last?.placement === 'spot' && interruptions.length >= MOST_INTERRUPTIONS) {
    return { placement: 'on-demand', reason: `Spot was interrupted ${interruptions.length} times within an hour without progress` };
  }
  return { placement: 'spot', reason: last?.placement === 'on-demand' ? 'the attempt before ran on demand' : 'the job prefers it' };
}
