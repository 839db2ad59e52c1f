import { EVERY, type StruckRun } from './struck-run.ts';

/** A save is sealed while training goes on, and the next one waits for it: so many steps can be made meanwhile, and one more before the first save. */
export const MOST_LOST = 2 * EVERY + 1;

type Counts = Readonly<Record<string, number>>;

/** What came of striking runs. */
export interface Tally {
  readonly kills: number;
  readonly byBlow: Counts;
  readonly byWorld: Counts;
  readonly byLaunch: Counts;
  /** Runs that came to their end with the weights of one that was never interrupted. */
  readonly finished: number;
  readonly resumes: number;
  /** Steps that had to be made again at each resume, in ascending order. */
  readonly lost: readonly number[];
  readonly faults: readonly string[];
}

const count = (counts: Record<string, number>, name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);

/** Keeps count. */
export class TallyBook {
  readonly faults: string[] = [];
  readonly #counts = { byBlow: {}, byWorld: {}, byLaunch: {} } as Readonly<
    Record<'byBlow' | 'byWorld' | 'byLaunch', Record<string, number>>
  >;
  readonly #lost: number[] = [];
  #isGivenUp = false;
  #kills = 0;
  #finished = 0;
  #resumes = 0;

  get kills(): number {
    return this.#kills;
  }

  fault(sentence: string): void {
    if (!this.#isGivenUp) this.faults.push(sentence);
  }

  /** The last fault of a run: what follows is its consequence, and counts for nothing. */
  giveUp(sentence: string): void {
    this.fault(sentence);
    this.#isGivenUp = true;
  }

  finished(): void {
    if (!this.#isGivenUp) this.#finished++;
  }

  struck({ world, launch }: StruckRun, blow: string): void {
    if (this.#isGivenUp) return;
    this.#kills++;
    count(this.#counts.byBlow, blow);
    count(this.#counts.byWorld, String(world));
    count(this.#counts.byLaunch, launch.name);
  }

  /** What the blows have cost, now that the run goes on with a step. */
  resumed(run: StruckRun, step: number): void {
    if (step > 0) this.#resumes++;
    if (run.struck.length > 0) this.#lost.push(Math.max(0, run.furthest - (step - 1)));
    // What is done after a notice, when a save was given up for want of time, is lost beyond that.
    const bounded = run.atBlow - (step - 1);
    if (bounded > MOST_LOST)
      this.fault(
        `${run.struck.join(', ')}: step ${run.atBlow} was reached before and ${run.furthest} in the end, and it goes on with ${step}`,
      );
    [run.atBlow, run.furthest] = [-1, -1];
    run.struck = [];
  }

  tally(): Tally {
    const lost = this.#lost.toSorted((a, b) => a - b);
    return { kills: this.#kills, ...this.#counts, finished: this.#finished, resumes: this.#resumes, lost, faults: this.faults };
  }
}

/** What came of several at once. */
export function together(tallies: readonly Tally[]): Tally {
  const sum = (pick: (tally: Tally) => number): number => tallies.reduce((total, tally) => total + pick(tally), 0);
  const sums = (pick: (tally: Tally) => Counts): Counts => {
    const names = new Set(tallies.flatMap((tally) => Object.keys(pick(tally))));
    return Object.fromEntries([...names].map((name) => [name, sum((tally) => pick(tally)[name] ?? 0)]));
  };
  return {
    kills: sum(({ kills }) => kills),
    byBlow: sums(({ byBlow }) => byBlow),
    byWorld: sums(({ byWorld }) => byWorld),
    byLaunch: sums(({ byLaunch }) => byLaunch),
    finished: sum(({ finished }) => finished),
    resumes: sum(({ resumes }) => resumes),
    lost: tallies.flatMap(({ lost }) => lost).sort((a, b) => a - b),
    faults: tallies.flatMap(({ faults }) => faults),
  };
}
