import type { Rng } from '../../../src/core/rng.ts';

/** One random case: what is asked, and what to say of the answers. */
export interface Case {
  readonly questions: readonly object[];
  /** What the real code does otherwise than we believe; empty when it agrees. */
  disagreements(answers: readonly unknown[]): readonly string[];
  /** What came of it, in a word: a run tells how many there were of each. */
  outcome(answers: readonly unknown[]): string;
}

export interface OracleCheck {
  readonly name: string;
  /** What is asked and compared, for the page. */
  readonly about: string;
  makeCase(rng: Rng): Case;
}

export function refusal(answer: unknown): string | null {
  return typeof answer === 'object' && answer !== null && 'error' in answer ? String(answer.error) : null;
}

/** The same things in another order. */
export function shuffled<Item>(items: readonly Item[], rng: Rng): Item[] {
  const left = [...items];
  return items.map(() => left.splice(rng.integer(0, left.length - 1), 1)[0] as Item);
}

/** One of them, or none. */
export function maybe<Item>(rng: Rng, chance: number, make: () => Item): Item | undefined {
  return rng.next() < chance ? make() : undefined;
}

/** So many of what is made, by number. */
export function several<Item>(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Objects have their keys in one order, so that they can be compared as text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([first], [second]) => (first < second ? -1 : 1)))
      : each,
  );
}
