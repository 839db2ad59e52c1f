import type { Recorded } from './events.ts';

/**
 * The events of several files in one order: by attempt, then by time, then by node. The events of one file stay in its order even where the
 * clock of its node went back; equal inputs give equal orders, however the files were listed.
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
