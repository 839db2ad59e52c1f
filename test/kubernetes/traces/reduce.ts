import { type Fact, growing, highestCounts, isLasting, vocabularyOf } from './facts.ts';

/** The result of one play. */
export interface Played {
  readonly facts: readonly Fact[];
  readonly roles: readonly string[];
  /** When the play had shown everything that the scenario waits for, in seconds from its start. */
  readonly over: number;
}

/** The time between two facts. */
interface Span {
  readonly from: string;
  readonly to: string;
  /**
   * The shortest and the longest time between the reports. They are for readers and are never
   * compared, because a busy machine reports late.
   */
  readonly least: number;
  readonly most: number;
  /** The least time that a timer promises, by the objects' own times. This is compared. */
  readonly promised?: number;
}

/** A clock correction during the play may take this much. */
const SLACK_SECONDS = 1;

/** What all plays of one scenario have in common. Histories race, so a trace is not a log. */
export interface Trace {
  readonly title: string;
  readonly plays: number;
  /** Seen in every play. */
  readonly always: readonly string[];
  /** Seen in some plays. */
  readonly sometimes: readonly string[];
  /** What objects that exist in every play could show, and showed in none. */
  readonly never: readonly string[];
  /** Named pairs of facts; the first came before the second in every play. */
  readonly order: readonly (readonly [string, string])[];
  readonly seconds: readonly Span[];
}

interface Named {
  readonly title: string;
  readonly order: readonly (readonly [string, string])[];
  readonly seconds: readonly Timing[];
}

/** The two facts, and how many seconds a timer promises at least. */
export type Timing = readonly [from: string, to: string, promised?: number | undefined];

/**
 * Throws if a pair came out of order or sooner than promised: then the scenario names it wrongly.
 */
export function reduce({ title, order, seconds }: Named, plays: readonly Played[]): Trace {
  const sets = plays.map(({ facts }) => new Set(facts.map(({ text }) => text)));
  const all = [...new Set(sets.flatMap((set) => [...set]))].sort();
  const isAlways = (text: string): boolean => sets.every((set) => set.has(text));
  // Objects that exist only in some plays say nothing about the others.
  const common = (plays[0]?.roles ?? []).filter((role) => plays.every(({ roles }) => roles.includes(role)));
  const vocabulary = vocabularyOf(common);
  for (const pair of order) for (const { facts } of plays) mustBeInOrder(pair, facts);
  for (const timing of seconds) for (const { facts } of plays) mustBeKept(timing, facts);
  return {
    title,
    plays: plays.length,
    always: all.filter(isAlways),
    sometimes: all.filter((text) => !isAlways(text)),
    never: [...vocabulary.filter((text) => !all.includes(text)), ...countsNeverReached(all, all.filter(isAlways))].sort(),
    order,
    seconds: seconds.map(([from, to, promised]) => {
      const each = plays.map(({ facts }) => find(facts, to).seconds - find(facts, from).seconds);
      const bounds = { from, to, least: tenths(Math.min(...each)), most: tenths(Math.max(...each)) };
      return promised === undefined ? bounds : { ...bounds, promised };
    }),
  };
}

/**
 * What every play shows if it is watched long enough: facts that stay true, and the final count of
 * each counter that never went further.
 */
export function mustBeSeen({ always, sometimes }: Pick<Trace, 'always' | 'sometimes'>): readonly string[] {
  const highest = highestCounts([...always, ...sometimes]);
  return always.filter((text) => {
    const grown = growing(text);
    return grown === null ? isLasting(text) : highest.get(grown.counter) === grown.count;
  });
}

/**
 * Counts of ended Jobs that are one above the highest. If no Job counted anything, the vocabulary
 * has the fact.
 */
function countsNeverReached(all: readonly string[], always: readonly string[]): readonly string[] {
  const hasEnded = (counter: string): boolean => {
    const [job = ''] = /^job [^:]*(?=: )/.exec(counter) ?? [];
    return ['Complete', 'Failed'].some((type) => always.includes(`${job}: condition ${type}`));
  };
  return [...highestCounts(all)].filter(([counter]) => hasEnded(counter)).map(([counter, count]) => `${counter} ${count + 1}`);
}

/**
 * How a play contradicts the trace: a lasting fact of every play is missing, a fact of no play
 * appears, or a pair is out of order or too soon.
 */
export function contradictions(trace: Trace, { facts }: Played): readonly string[] {
  const seen = new Set(facts.map(({ text }) => text));
  const disordered = trace.order.filter(([first, second]) => seen.has(first) && seen.has(second) && !isInOrder([first, second], facts));
  return [
    ...mustBeSeen(trace)
      .filter((text) => !seen.has(text))
      .map((text) => `always, and not now: ${text}`),
    ...trace.never.filter((text) => seen.has(text)).map((text) => `never, and now: ${text}`),
    ...disordered.map(([first, second]) => `not in order: ${first}; ${second}`),
    ...trace.seconds.flatMap(({ from, to, promised }) => tooSoon([from, to, promised], facts) ?? []),
  ];
}

/** Lasting facts of a play that are in no list of the trace. */
interface UnheardOf {
  /**
   * Facts about pods and Jobs from the time before the scenario was complete. The stored plays were
   * watched as long, so this is a race that they did not show, or a real difference.
   */
  readonly ofPodsAndJobs: readonly string[];
  /** Later facts, and kubectl's output: a play may be watched for longer than the stored ones. */
  readonly others: readonly string[];
}

export function unheardOf({ always, sometimes, never }: Trace, { facts, over }: Played): UnheardOf {
  const known = new Set([...always, ...sometimes, ...never]);
  const highest = highestCounts([...always, ...sometimes]);
  const isFurther = (text: string): boolean => {
    const grown = growing(text);
    return grown !== null && grown.count > (highest.get(grown.counter) ?? 0);
  };
  const unknown = facts.filter(({ text }) => (isLasting(text) || isFurther(text)) && !known.has(text));
  const isClosed = ({ text, seconds }: Fact): boolean => /^(pod|job) /.test(text) && seconds <= over;
  const textsOf = (some: readonly Fact[]): readonly string[] => some.map(({ text }) => text);
  return {
    ofPodsAndJobs: textsOf(unknown.filter(isClosed)),
    others: textsOf(unknown.filter((fact) => !isClosed(fact))),
  };
}

/**
 * A message if less time passed than promised, by the objects' own times; null also if they have
 * none.
 */
function tooSoon([from, to, promised]: Timing, facts: readonly Fact[]): string | null {
  const [begin, end] = [from, to].map((text) => facts.find((fact) => fact.text === text)?.told);
  if (promised === undefined || begin === undefined || end === undefined) return null;
  return end - begin < promised - SLACK_SECONDS ? `${end - begin} s, and not ${promised}: ${from}; ${to}` : null;
}

/** Throws if no object shows the named fact: the promise would then check nothing. */
function mustBeKept([from, to, promised]: Timing, facts: readonly Fact[]): void {
  if (promised === undefined) return;
  for (const text of [from, to]) if (find(facts, text).told === undefined) throw new Error(`no object says when it was: ${text}`);
  const broken = tooSoon([from, to, promised], facts);
  if (broken !== null) throw new Error(broken);
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
