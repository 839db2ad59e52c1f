/** A sealed checkpoint's place in the order of last good: by attempt, then by step. */
export interface Place {
  readonly attempt: number;
  readonly step: number;
}

/**
 * One operation of one process, in nanoseconds of the machine's monotonic clock: called at `from`,
 * answered at `to` (null: killed before).
 */
export type HistoryEvent = { readonly from: bigint; readonly to: bigint | null; readonly process: string } & (
  | { readonly kind: 'commit'; readonly place: Place; readonly outcome: 'sealed' | 'refused' | 'unknown' }
  /**
   * The start of an attempt: everything older is fenced after its answer. `seen` is the result of a
   * scan right after the answer.
   */
  | { readonly kind: 'attempt'; readonly attempt: number; readonly seen: readonly Place[] | null }
  | { readonly kind: 'read'; readonly lastGood: Place | null }
);

function compare(a: Place, b: Place): number {
  return a.attempt - b.attempt || a.step - b.step;
}

/**
 * The faults of a history of last good, given the final state of the disk.
 *
 * Last good behaves as a register that only grows: a commit writes a place, a read returns the
 * greatest. Such a history is linearizable if three rules hold. No read returns a place before a
 * commit of it began. No read misses a commit that was answered before the read began. Of two reads
 * one after the other, the later one is not smaller.
 *
 * Fencing adds a rule: every scan after the start of a newer attempt has seen all final seals of
 * older attempts.
 */
export function faultsOf(history: readonly HistoryEvent[], sealed: readonly Place[]): string[] {
  return [...readFaults(history), ...commitFaults(history, sealed), ...fenceFaults(history, sealed)];
}

type Read = Extract<HistoryEvent, { kind: 'read' }> & { readonly to: bigint };
type Commit = Extract<HistoryEvent, { kind: 'commit' }>;

function* readFaults(history: readonly HistoryEvent[]): Generator<string> {
  const commits = history.filter((event): event is Commit => event.kind === 'commit');
  const reads = history
    .filter((event): event is Read => event.kind === 'read' && event.to !== null)
    .sort((a, b) => (a.from < b.from ? -1 : 1));
  for (const read of reads) {
    const { lastGood } = read;
    const begun = commits.some(({ place, from }) => lastGood !== null && from < read.to && compare(place, lastGood) === 0);
    if (lastGood !== null && !begun) yield `${read.process} read ${show(lastGood)}, which nobody had begun to commit`;
    for (const { place, to, outcome } of commits) {
      if (outcome === 'sealed' && to !== null && to < read.from && isLess(lastGood, place)) {
        yield `${read.process} read ${show(lastGood)} after ${show(place)} had been sealed`;
      }
    }
    for (const earlier of reads) {
      if (earlier.to < read.from && earlier.lastGood !== null && isLess(lastGood, earlier.lastGood)) {
        yield `${read.process} read ${show(lastGood)} after ${earlier.process} had read ${show(earlier.lastGood)}`;
      }
    }
  }
}

function* commitFaults(history: readonly HistoryEvent[], sealed: readonly Place[]): Generator<string> {
  for (const event of history) {
    if (event.kind !== 'commit') continue;
    const there = sealed.some((place) => compare(place, event.place) === 0);
    if (event.outcome === 'sealed' && !there) yield `${show(event.place)} was answered as sealed and is not there`;
    if (event.outcome === 'refused' && there) yield `${show(event.place)} was refused and is there`;
  }
  for (const place of sealed) {
    if (!history.some((event) => event.kind === 'commit' && compare(event.place, place) === 0)) yield `nobody committed ${show(place)}`;
  }
}

function* fenceFaults(history: readonly HistoryEvent[], sealed: readonly Place[]): Generator<string> {
  for (const event of history) {
    if (event.kind !== 'attempt' || event.seen === null) continue;
    for (const place of sealed) {
      if (place.attempt < event.attempt && !event.seen.some((one) => compare(one, place) === 0)) {
        yield `${show(place)} was sealed after attempt ${event.attempt} had fenced it`;
      }
    }
    for (const other of history) {
      if (other !== event && other.kind === 'attempt' && other.attempt === event.attempt)
        yield `attempt ${event.attempt} was given to two gangs`;
    }
  }
}

function isLess(place: Place | null, other: Place): boolean {
  return place === null || compare(place, other) < 0;
}

function show(place: Place | null): string {
  return place === null ? 'nothing' : `step ${place.step} of attempt ${place.attempt}`;
}
