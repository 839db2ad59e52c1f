/** One checkpoint as a rank names it to the others. */
export interface Holding {
  readonly attempt: number;
  readonly step: number;
  readonly save: string;
}

export interface Agreement {
  /** The newest that all hold, null when there is none. */
  readonly agreed: Holding | null;
  /** What some hold that is newer than what all do, and who lacks it. */
  readonly lacking: readonly { readonly holding: Holding; readonly ranks: readonly number[] }[];
}

/**
 * The newest checkpoint that all ranks hold, where each has storage of its own. What counts is the save, not the step: two ranks that hold
 * the same step of two saves do not hold the same checkpoint.
 */
export function agree(held: readonly (readonly Holding[])[]): Agreement {
  const owners = new Map<string, { readonly holding: Holding; readonly ranks: Set<number> }>();
  for (const [rank, holdings] of held.entries()) {
    for (const holding of holdings) {
      const key = `${holding.attempt}/${holding.step}/${holding.save}`;
      const known = owners.get(key);
      if (known === undefined) owners.set(key, { holding, ranks: new Set([rank]) });
      else known.ranks.add(rank);
    }
  }
  const newest = [...owners.values()].sort((a, b) => b.holding.attempt - a.holding.attempt || b.holding.step - a.holding.step);
  const at = newest.findIndex(({ ranks }) => ranks.size === held.length);
  const lacking = newest
    .slice(0, at < 0 ? newest.length : at)
    .map(({ holding, ranks }) => ({ holding, ranks: held.map((_, rank) => rank).filter((rank) => !ranks.has(rank)) }));
  return { agreed: newest[at]?.holding ?? null, lacking };
}
