import type { Rng } from '../../../src/core/rng.ts';

/** The releases whose own code can be asked, by the 37 of v1.37.1. */
export const RELEASES = [35, 37] as const;
export type Minor = (typeof RELEASES)[number];

/** One random case: the questions, and how to judge the answers. */
export interface Case {
  readonly questions: readonly object[];
  /** What the real code of a release does and ours does not; empty when both agree. */
  disagreements(answers: readonly unknown[], minor: Minor): readonly string[];
  /** The outcome in a few words. A run counts how often it saw each. */
  outcome(answers: readonly unknown[]): string;
}

export interface OracleCheck {
  readonly name: string;
  /** What this check asks and compares, for the page. */
  readonly about: string;
  /** The releases that it asks. */
  readonly releases: readonly Minor[];
  /** The feature gates that the real code runs with; absent: none is turned on. */
  readonly gates?: readonly string[];
  /**
   * The real code answers a few cases in several ways, by the order of its maps: a case is asked up
   * to so many times, and disagrees if none of the answers is ours. Absent: once.
   */
  readonly tries?: number;
  makeCase(rng: Rng): Case;
}

export function refusal(answer: unknown): string | null {
  return typeof answer === 'object' && answer !== null && 'error' in answer ? String(answer.error) : null;
}

/** The same items in random order. */
export function shuffled<Item>(items: readonly Item[], rng: Rng): Item[] {
  const left = [...items];
  return items.map(() => left.splice(rng.integer(0, left.length - 1), 1)[0] as Item);
}

/** The same items in every order. */
export function orders<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first, at) => orders(items.filter((_, index) => index !== at)).map((rest) => [first, ...rest]));
}

/** Makes the item with this chance, or returns undefined. */
export function maybe<Item>(rng: Rng, chance: number, make: () => Item): Item | undefined {
  return rng.next() < chance ? make() : undefined;
}

/** Makes `count` items; `make` gets the number of each. */
export function several<Item>(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** JSON with sorted keys, so that two objects can be compared as text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([first], [second]) => (first < second ? -1 : 1)))
      : each,
  );
}
