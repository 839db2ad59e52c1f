import type { EventKind, EventOf, Recorded } from './events.ts';

/** A mark on the lane of an attempt. */
export interface Mark {
  readonly atMs: number;
  readonly kind: 'sealed' | 'save-failed' | 'advice' | 'notice' | 'flushed' | 'not-flushed' | 'hang';
}

/** One attempt, over all its nodes. */
export interface Lane {
  readonly attempt: number;
  /** The nodes, in the order of their first events. */
  readonly nodes: readonly string[];
  readonly startedMs: number;
  /** When the last event was recorded. */
  readonly seenMs: number;
  /**
   * The end that counts: with several nodes, the worst one. Null: the attempt is running, or died
   * without recording an end.
   */
  readonly end: EventOf<'attempt-ended'> | null;
  /** A later attempt exists, so this one is over, also without a recorded end. */
  readonly isFollowed: boolean;
  readonly command: readonly string[];
  readonly resumeStep: number | null;
  readonly lastStep: number | null;
  readonly sealed: number;
  readonly lastSealedStep: number | null;
  readonly marks: readonly Mark[];
  readonly events: readonly Recorded[];
}

/** The attempts of a run from its events, in ascending order. */
export function lanesOf(events: readonly Recorded[]): readonly Lane[] {
  const byAttempt = new Map<number, Recorded[]>();
  for (const recorded of events) {
    const known = byAttempt.get(recorded.attempt);
    if (known === undefined) byAttempt.set(recorded.attempt, [recorded]);
    else known.push(recorded);
  }
  const last = Math.max(...byAttempt.keys());
  return [...byAttempt.values()].map((own) => laneOf(own, last)).sort((a, b) => a.attempt - b.attempt);
}

/** Whether a run is over: its newest attempt finished. */
export function isFinished(lanes: readonly Lane[]): boolean {
  return lanes.at(-1)?.end?.end === 'finished';
}

function laneOf(events: readonly Recorded[], lastAttempt: number): Lane {
  let startedMs = Number.POSITIVE_INFINITY;
  let seenMs = Number.NEGATIVE_INFINITY;
  for (const { atMs } of events) {
    startedMs = Math.min(startedMs, atMs);
    seenMs = Math.max(seenMs, atMs);
  }
  const started = kindOf(events, 'attempt-started')[0];
  const sealed = kindOf(events, 'save-ended').filter(({ outcome }) => outcome === 'sealed');
  const attempt = events[0]?.attempt ?? 0;
  return {
    attempt,
    nodes: [...new Set(events.map(({ node }) => node))],
    startedMs,
    seenMs,
    end: worstEnd(kindOf(events, 'attempt-ended')),
    isFollowed: attempt < lastAttempt,
    command: started?.command ?? [],
    resumeStep: started?.resumeStep ?? null,
    lastStep: furthest([
      ...kindOf(events, 'progress').map(({ step }) => step),
      ...kindOf(events, 'save-started').map(({ step }) => step),
      ...kindOf(events, 'attempt-ended').map(({ step }) => step),
    ]),
    // Every node records the same save.
    sealed: new Set(sealed.map(({ step, save }) => `${step}/${save}`)).size,
    lastSealedStep: furthest(sealed.map(({ step }) => step)),
    marks: events.flatMap(markOf),
    events,
  };
}

function kindOf<Kind extends EventKind>(events: readonly Recorded[], kind: Kind): readonly EventOf<Kind>[] {
  return events.flatMap(({ event }) => (event.kind === kind ? [event as EventOf<Kind>] : []));
}

const SEVERITY = { finished: 0, interrupted: 1, refused: 2, failed: 3, killed: 3 } as const;

function worstEnd(ends: readonly EventOf<'attempt-ended'>[]): EventOf<'attempt-ended'> | null {
  return ends.reduce<EventOf<'attempt-ended'> | null>(
    (worst, end) => (worst === null || SEVERITY[end.end] > SEVERITY[worst.end] ? end : worst),
    null,
  );
}

function furthest(steps: readonly (number | null)[]): number | null {
  return steps.reduce<number | null>((most, step) => (step === null || (most !== null && most >= step) ? most : step), null);
}

function markOf({ atMs, event }: Recorded): readonly Mark[] {
  switch (event.kind) {
    case 'save-ended':
      return [{ atMs, kind: event.outcome === 'sealed' ? 'sealed' : 'save-failed' }];
    case 'notice':
      return [{ atMs, kind: event.terminating ? 'notice' : 'advice' }];
    case 'flush-ended':
      return [{ atMs, kind: event.outcome === 'made' || event.outcome === 'staged-sealed' ? 'flushed' : 'not-flushed' }];
    case 'hang':
      return [{ atMs, kind: 'hang' }];
    default:
      return [];
  }
}
