import { LIMITS } from '../../core/hostile-limits.ts';

/** The parts of a checkpoint that a trainer needs to resume exactly. */
export const NEEDS = ['weights', 'optimizer', 'scheduler', 'rng', 'step'] as const;
/** One part in {@link NEEDS}. */
export type Need = (typeof NEEDS)[number];

/** A step counter found inside a file. */
export interface StepSeen {
  readonly step: number;
  /** `trainer_state.json: global_step`, for a person. */
  readonly where: string;
  readonly file: string;
}

/**
 * What was found in a checkpoint of the things a trainer needs. Filled by the format readers
 * through {@link ContentBuilder}.
 */
export interface Content {
  /** Where each thing was found; an empty list means missing. */
  readonly found: Readonly<Record<Exclude<Need, 'step'>, readonly string[]>>;
  readonly steps: readonly StepSeen[];
  /**
   * Ranks whose random state was found, and how many the checkpoint should have (null when it does
   * not say).
   */
  readonly rngRanks: { readonly found: readonly number[]; readonly expected: number | null };
  /** How many ranks wrote it, where the checkpoint says so. */
  readonly worldSize: number | null;
  /**
   * True for files of no known format that are sealed: what is in them only their trainer knows.
   */
  readonly isOpaque: boolean;
}

/** Collects the content of a checkpoint while readers inspect it. */
export class ContentBuilder {
  readonly found: Record<Exclude<Need, 'step'>, string[]> = { weights: [], optimizer: [], scheduler: [], rng: [] };
  readonly steps: StepSeen[] = [];
  readonly rngRanks: { readonly found: readonly number[]; expected: number | null };
  worldSize: number | null = null;
  isOpaque = false;
  readonly #ranks: number[] = [];
  readonly #knownRanks = new Set<number>();

  constructor() {
    this.rngRanks = { found: this.#ranks, expected: null };
  }

  /** Notes that the random state of a rank was found. */
  addRank(rank: number): void {
    if (this.#knownRanks.has(rank) || this.#ranks.length >= LIMITS.ranks) return;
    this.#knownRanks.add(rank);
    this.#ranks.push(rank);
  }

  /** Notes that a thing was found (once is enough; repeated places are kept up to a few). */
  add(need: Exclude<Need, 'step'>, where: string): void {
    const places = this.found[need];
    if (places.length < 8 && !places.includes(where)) places.push(where);
  }

  addStep(step: number, file: string, where: string): void {
    if (Number.isSafeInteger(step) && step >= 0 && this.steps.length < 10_000) this.steps.push({ step, file, where });
  }

  /** Takes over what was found in a member of this checkpoint. */
  merge(other: Content): void {
    for (const need of ['weights', 'optimizer', 'scheduler', 'rng'] as const) {
      for (const where of other.found[need]) this.add(need, where);
    }
    for (const seen of other.steps) this.addStep(seen.step, seen.file, seen.where);
    for (const rank of other.rngRanks.found) this.addRank(rank);
    this.rngRanks.expected ??= other.rngRanks.expected;
    this.worldSize ??= other.worldSize;
  }
}
