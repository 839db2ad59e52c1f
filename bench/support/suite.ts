import { type Summary, summarise } from './statistics.ts';

/** One of the things that a suite measures and compares. */
export interface Variant {
  readonly name: string;
  /** Runs before each round, outside the measured time: dropping caches, for example. */
  readonly prepare?: () => Promise<void> | void;
  /** Runs one round; returns its seconds, and its memory if that was measured. */
  readonly run: () => Promise<{ readonly seconds: number; readonly peakBytes?: number }>;
}

/** A bound for the results. It is shown beside them; no test asserts it. */
export interface Bound {
  readonly text: string;
  isMet(results: ReadonlyMap<string, VariantResult>): boolean;
}

export interface Suite {
  readonly name: string;
  /** What is measured, on which data, with which caches. */
  readonly description: string;
  readonly rounds: number;
  /** The variant that the ratios refer to. */
  readonly reference: string;
  /** The bytes of one round, for a rate; 0 when a rate makes no sense. */
  readonly bytes: number;
  readonly variants: readonly Variant[];
  readonly bounds: readonly Bound[];
  /** False: no extra round warms up, because one takes minutes. */
  readonly warmsUp?: boolean;
  readonly dispose?: () => void | PromiseLike<void>;
}

export interface VariantResult {
  readonly name: string;
  readonly seconds: Summary;
  readonly peakBytes: number | null;
}

export interface SuiteResult {
  readonly suite: Suite;
  readonly results: ReadonlyMap<string, VariantResult>;
}

/**
 * Runs the variants in turns, in a different order each round, so that a slow minute of the machine
 * affects all of them alike. One extra round warms up, unless the suite forgoes it.
 */
export async function runSuite(suite: Suite, onRound: (text: string) => void): Promise<SuiteResult> {
  const seconds = new Map<string, number[]>(suite.variants.map(({ name }) => [name, []]));
  const peaks = new Map<string, number>();
  for (let round = suite.warmsUp === false ? 1 : 0; round <= suite.rounds; round++) {
    for (const variant of rotated(suite.variants, round)) {
      onRound(`${suite.name}: round ${round} of ${suite.rounds}, ${variant.name}`);
      await variant.prepare?.();
      const run = await variant.run();
      if (round > 0) seconds.get(variant.name)?.push(run.seconds);
      if (run.peakBytes !== undefined) peaks.set(variant.name, Math.max(peaks.get(variant.name) ?? 0, run.peakBytes));
    }
  }
  const results = suite.variants.map(({ name }): [string, VariantResult] => [
    name,
    { name, seconds: summarise(seconds.get(name) ?? []), peakBytes: peaks.get(name) ?? null },
  ]);
  return { suite, results: new Map(results) };
}

function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}
