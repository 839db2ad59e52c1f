import type { Cause } from '../domain/grace/notice.ts';
import type { MeasuredSave } from '../domain/grace/prediction.ts';
import type { EventOf, Recorded } from './events.ts';
import { type Lane, lanesOf } from './timeline.ts';

/**
 * The facts from earlier attempts of a run that the next one uses for its cadence, its predictions
 * and its restart budget.
 */
export interface RunHistory {
  readonly attempts: number;
  /** How long the run has been up in all. */
  readonly upMs: number;
  /**
   * Ends that the trainer did not cause, including those without a recorded end; a stop by a person
   * does not count.
   */
  readonly interruptions: number;
  /** The interruptions whose work a flush saved. */
  readonly flushed: number;
  /**
   * The median time from such an end until the next attempt made a step; null when it was never
   * seen.
   */
  readonly restartMs: number | null;
  /**
   * Sealed saves, oldest first: how long the trainer wrote, how long it stood still, and how long
   * the seal took after that.
   */
  readonly writes: readonly MeasuredSave[];
  readonly stalls: readonly MeasuredSave[];
  readonly seals: readonly MeasuredSave[];
}

/** As many saves as a prediction remembers. */
const REMEMBERED = 64;

/** Causes that come from a person, and so not at random. */
const BY_HAND: ReadonlySet<Cause> = new Set(['ctrl-c', 'hangup', 'suspend'] satisfies Cause[]);

/** The history of the attempts before `attempt`. */
export function historyBefore(attempt: number, events: readonly Recorded[]): RunHistory {
  const lanes = lanesOf(events.filter((recorded) => recorded.attempt < attempt));
  const interrupted = lanes.filter(isInterruption);
  const saves = lanes.flatMap(sealedOnce).slice(-REMEMBERED);
  return {
    attempts: lanes.length,
    upMs: lanes.reduce((sum, { startedMs, seenMs }) => sum + seenMs - startedMs, 0),
    interruptions: interrupted.length,
    flushed: interrupted.filter(isFlushed).length,
    restartMs: medianOf(lanes.flatMap((lane, index) => restartAfter(lane, lanes[index + 1]))),
    writes: saves.flatMap(({ bytes, writeMs }) => (bytes === null || writeMs === null ? [] : [{ bytes, ms: writeMs }])),
    stalls: saves.flatMap(({ bytes, stallMs }) => (bytes === null || stallMs === null ? [] : [{ bytes, ms: stallMs }])),
    seals: saves.flatMap((save) => (save.bytes === null ? [] : [{ bytes: save.bytes, ms: sealMs(save) }])),
  };
}

/** An attempt with a successor but no recorded end died with its node. */
function isInterruption({ end }: Lane): boolean {
  if (end === null) return true;
  return end.end === 'interrupted' && (end.cause === null || !BY_HAND.has(end.cause));
}

function isFlushed({ events }: Lane): boolean {
  return events.some(({ event }) => event.kind === 'flush-ended' && event.outcome === 'made');
}

/** Every node records the save; one record is enough. */
function sealedOnce({ events }: Lane): readonly EventOf<'save-ended'>[] {
  const seen = new Map<string, EventOf<'save-ended'>>();
  for (const { event } of events) {
    if (event.kind === 'save-ended' && event.outcome === 'sealed') seen.set(`${event.step}/${event.save}`, event);
  }
  return [...seen.values()];
}

function sealMs({ copyMs, checksumMs, commitMs }: EventOf<'save-ended'>): number {
  return (copyMs ?? 0) + (checksumMs ?? 0) + (commitMs ?? 0);
}

function restartAfter(lane: Lane, next: Lane | undefined): readonly number[] {
  if (next === undefined || !isInterruption(lane)) return [];
  const trains = next.events.find(({ event }) => event.kind === 'progress');
  return trains === undefined ? [] : [Math.max(0, trains.atMs - lane.seenMs)];
}

function medianOf(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
}
