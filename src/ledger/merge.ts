import type { Recorded } from './events.ts';

/**
 * Merges the events of several files into one order: by attempt, then by time, then by node. The
 * events of one file keep their order even if the clock of its node went back. Equal inputs give
 * equal orders, whatever the order of the files.
 */
export function mergeEvents(files: readonly (readonly Recorded[])[]): readonly Recorded[] {
  const keyed = files.flatMap((events) => {
    let latest = Number.NEGATIVE_INFINITY;
    return events.map((recorded, index) => ({ recorded, index, timeMs: (latest = Math.max(latest, recorded.atMs)) }));
  });
  keyed.sort(
    (a, b) =>
      a.recorded.attempt - b.recorded.attempt || a.timeMs - b.timeMs || compareText(a.recorded.node, b.recorded.node) || a.index - b.index,
  );
  return keyed.map(({ recorded }) => recorded);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
