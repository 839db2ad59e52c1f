import type { Cause } from '../domain/notice.ts';
import type { MeasuredSave } from '../domain/prediction.ts';
import type { EventOf, Recorded } from './events.ts';
import { type Lane, lanesOf } from './timeline.ts';

/** What the earlier attempts of a run teach the next one: for its cadence, its predictions and its budget. */
export interface RunHistory {
  readonly attempts: number;
  /** How long the run has been up in all. */
  readonly upMs: number;
  /** Ends that the program did not cause, those without a word among them; not what a person stopped. */
  readonly interruptions: number;
  /** Of these, the ones whose work a flush saved. */
  readonly flushed: number;
  /** From such an end until the next attempt trained again; the median, null when it was never seen. */
  readonly restartMs: number | null;
  /** Sealed saves, oldest first: how long the trainer wrote, how long it stood still for it, and how long it took from then until it was sealed. */
  readonly writes: readonly MeasuredSave[];
  readonly stalls: readonly MeasuredSave[];
  readonly seals: readonly MeasuredSave[];
}

/** As many saves as a prediction remembers. */
const REMEMBERED = 64;

/** A person who stops a run does not come at random. */
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

/** An attempt that was followed by another without a word of its end died with its node. */
function isInterruption({ end }: Lane): boolean {
  if (end === null) return true;
  return end.end === 'interrupted' && (end.cause === null || !BY_HAND.has(end.cause));
}

function isFlushed({ events }: Lane): boolean {
  return events.some(({ event }) => event.kind === 'flush-ended' && event.outcome === 'made');
}

/** Every node tells of a save; one is enough. */
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
