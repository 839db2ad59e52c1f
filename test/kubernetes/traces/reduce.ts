import { type Fact, growing, highestCounts, isLasting, vocabularyOf } from './facts.ts';

/** What came of one play. */
export interface Played {
  readonly facts: readonly Fact[];
  readonly roles: readonly string[];
  /** When all of the scenario had been seen, in seconds since it began. */
  readonly over: number;
}

/** From one fact to another. */
interface Span {
  readonly from: string;
  readonly to: string;
  /** The shortest and the longest, by when they were heard of: kept to be read, and never compared, since whoever is busy hears late. */
  readonly least: number;
  readonly most: number;
  /** What a timer promises at least, by what the objects themselves say: this is compared. */
  readonly promised?: number;
}

/** A clock that is put right meanwhile may cost this much. */
const SLACK_SECONDS = 1;

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
  readonly seconds: readonly Span[];
}

interface Named {
  readonly title: string;
  readonly order: readonly (readonly [string, string])[];
  readonly seconds: readonly Timing[];
}

/** From what to what, and how many seconds a timer promises at least. */
export type Timing = readonly [from: string, to: string, promised?: number | undefined];

/** A pair that was to be in order and was not, or came sooner than was promised, is an error of whoever named it. */
export function reduce({ title, order, seconds }: Named, plays: readonly Played[]): Trace {
  const sets = plays.map(({ facts }) => new Set(facts.map(({ text }) => text)));
  const all = [...new Set(sets.flatMap((set) => [...set]))].sort();
  const isAlways = (text: string): boolean => sets.every((set) => set.has(text));
  // Of an object that only some plays have, the others say nothing.
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

/** What every play shows if it is watched for long enough: what stays true, and how far a counter that only grows came, where it never came further. */
export function mustBeSeen({ always, sometimes }: Pick<Trace, 'always' | 'sometimes'>): readonly string[] {
  const highest = highestCounts([...always, ...sometimes]);
  return always.filter((text) => {
    const grown = growing(text);
    return grown === null ? isLasting(text) : highest.get(grown.counter) === grown.count;
  });
}

/** One more than the Jobs that have ended ever counted. Where none was counted at all, the vocabulary has it. */
function countsNeverReached(all: readonly string[], always: readonly string[]): readonly string[] {
  const hasEnded = (counter: string): boolean => {
    const [job = ''] = /^job [^:]*(?=: )/.exec(counter) ?? [];
    return ['Complete', 'Failed'].some((type) => always.includes(`${job}: condition ${type}`));
  };
  return [...highestCounts(all)].filter(([counter]) => hasEnded(counter)).map(([counter, count]) => `${counter} ${count + 1}`);
}

/** In what a play is otherwise than the trace says: what always happened for good and did not, what never did and does, and what came out of turn or too soon. */
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

/** What a play shows for good that no list of the trace has. */
interface UnheardOf {
  /** Of pods and Jobs, before all of the scenario had been seen: the stored plays were watched as long, so either it is a race that they did not show, or another truth. */
  readonly ofPodsAndJobs: readonly string[];
  /** Later, or what kubectl said: a play may be watched for longer than the stored ones were. */
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

/** Says so when less time passed than was promised, by what the objects say; null also when they do not say. */
function tooSoon([from, to, promised]: Timing, facts: readonly Fact[]): string | null {
  const [begin, end] = [from, to].map((text) => facts.find((fact) => fact.text === text)?.told);
  if (promised === undefined || begin === undefined || end === undefined) return null;
  return end - begin < promised - SLACK_SECONDS ? `${end - begin} s, and not ${promised}: ${from}; ${to}` : null;
}

/** Whoever names what no object says would promise nothing. */
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
