import { type Fact, isLasting, vocabularyOf } from './facts.ts';

/** What came of one play. */
export interface Played {
  readonly facts: readonly Fact[];
  readonly roles: readonly string[];
}

/** What plays of one scenario have in common. A history races, so this is no log. */
export interface Trace {
  readonly title: string;
  readonly plays: number;
  /** Seen in every play. */
  readonly always: readonly string[];
  /** Seen in some. */
  readonly sometimes: readonly string[];
  /** Of what objects that every play has may show, seen in none. */
  readonly never: readonly string[];
  /** The named pairs whose first came before the second, every time. */
  readonly order: readonly (readonly [string, string])[];
  /** From one to the other, the shortest and the longest. */
  readonly seconds: readonly { readonly from: string; readonly to: string; readonly least: number; readonly most: number }[];
}

interface Named {
  readonly title: string;
  readonly order: readonly (readonly [string, string])[];
  readonly seconds: readonly (readonly [string, string])[];
}

/** A pair that was to be in order and was not is an error of whoever named it. */
export function reduce({ title, order, seconds }: Named, plays: readonly Played[]): Trace {
  const sets = plays.map(({ facts }) => new Set(facts.map(({ text }) => text)));
  const all = [...new Set(sets.flatMap((set) => [...set]))].sort();
  const isAlways = (text: string): boolean => sets.every((set) => set.has(text));
  // Of an object that only some plays have, the others say nothing.
  const common = (plays[0]?.roles ?? []).filter((role) => plays.every(({ roles }) => roles.includes(role)));
  const vocabulary = vocabularyOf(common);
  for (const pair of order) for (const { facts } of plays) mustBeInOrder(pair, facts);
  return {
    title,
    plays: plays.length,
    always: all.filter(isAlways),
    sometimes: all.filter((text) => !isAlways(text)),
    never: vocabulary.filter((text) => !all.includes(text)).sort(),
    order,
    seconds: seconds.map(([from, to]) => {
      const each = plays.map(({ facts }) => find(facts, to).seconds - find(facts, from).seconds);
      return { from, to, least: tenths(Math.min(...each)), most: tenths(Math.max(...each)) };
    }),
  };
}

/** In what a play is otherwise than the trace says: what always happened for good and did not, and what never did and does. */
export function contradictions(trace: Trace, { facts }: Played): readonly string[] {
  const seen = new Set(facts.map(({ text }) => text));
  const disordered = trace.order.filter(([first, second]) => seen.has(first) && seen.has(second) && !isInOrder([first, second], facts));
  return [
    ...trace.always.filter((text) => isLasting(text) && !seen.has(text)).map((text) => `always, and not now: ${text}`),
    ...trace.never.filter((text) => seen.has(text)).map((text) => `never, and now: ${text}`),
    ...disordered.map(([first, second]) => `not in order: ${first}; ${second}`),
  ];
}

/** What a play shows for good that no list of the trace has. It contradicts nothing: a play may have been watched for longer than the stored ones. */
export function unheardOf({ always, sometimes, never }: Trace, { facts }: Played): readonly string[] {
  const known = new Set([...always, ...sometimes, ...never]);
  return facts.map(({ text }) => text).filter((text) => isLasting(text) && !known.has(text));
}

function mustBeInOrder(pair: readonly [string, string], facts: readonly Fact[]): void {
  if (!isInOrder(pair, facts)) throw new Error(`${pair[0]} did not come before ${pair[1]}`);
}

function isInOrder([first, second]: readonly [string, string], facts: readonly Fact[]): boolean {
  return find(facts, first).revision < find(facts, second).revision;
}

function find(facts: readonly Fact[], text: string): Fact {
  const found = facts.find((fact) => fact.text === text);
  if (found === undefined) throw new Error(`never seen: ${text}`);
  return found;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
