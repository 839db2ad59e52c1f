import type { Candidate } from './victims.ts';

/** The scheduler’s share of nodes that it tries: at least this many, and this percentage. */
const [LEAST_TRIED, PERCENT_TRIED] = [100, 10] as const;
/** Keeps sums of negative priorities from making more victims look cheaper. */
const SHIFT = 2 ** 31;

type Measures = readonly number[];

/** The candidates that the scheduler may choose. */
export interface Choice {
  /** Equally good by all its rules; it takes any of them. */
  readonly best: readonly Candidate[];
  /**
   * All that it may choose. With more nodes to try than it tries, it starts at a random one and
   * stops early, so this may be more than the best.
   */
  readonly possible: readonly Candidate[];
}

/** Chooses among candidates; `tryable` is the number of nodes where a preemption could help. */
export function choose(candidates: readonly Candidate[], tryable: number): Choice {
  const ranked = candidates.map((candidate) => ({ candidate, measures: measuresOf(candidate) }));
  ranked.sort((first, second) => compare(first.measures, second.measures));
  const [lead] = ranked;
  if (lead === undefined) return { best: [], possible: [] };
  const best = ranked.filter(({ measures }) => compare(measures, lead.measures) === 0);
  const enough = Math.max(Math.floor((tryable * PERCENT_TRIED) / 100), LEAST_TRIED);
  const isSampled = tryable > enough;
  // A candidate is the best of some sample when enough others are no better. The search goes on
  // until one is found that breaks no budget, so one that does has a chance only if all do.
  const isClean = lead.candidate.violations === 0;
  const possible = ranked.filter(({ candidate, measures }) => {
    const betters = ranked.findIndex((other) => compare(other.measures, measures) === 0);
    return isClean && candidate.violations === 0 && ranked.length - betters >= enough;
  });
  const plain = (each: typeof ranked): readonly Candidate[] => each.map(({ candidate }) => candidate);
  return { best: plain(best), possible: plain(isSampled && possible.length > best.length ? possible : best) };
}

/** The smaller is the better, one after the other. */
function measuresOf({ victims, violations }: Candidate): Measures {
  const highest = victims.reduce((found, { priority }) => Math.max(found, priority), Number.NEGATIVE_INFINITY);
  const earliest = victims.reduce(
    (found, { priority, startMs }) => (priority === highest ? Math.min(found, startMs ?? Number.POSITIVE_INFINITY) : found),
    Number.POSITIVE_INFINITY,
  );
  const sum = victims.reduce((found, { priority }) => found + priority + SHIFT, 0);
  return [violations, victims[0]?.priority ?? 0, sum, victims.length, -earliest];
}

function compare(first: Measures, second: Measures): number {
  for (const [index, value] of first.entries()) {
    const other = second[index] as number;
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}
