import { EVERY, type StruckRun } from './struck-run.ts';

/**
 * The most steps that a kill can cost. Training continues while a save is sealed, and the next save
 * waits for it; one more step comes before the first save.
 */
export const MOST_LOST = 2 * EVERY + 1;

type Counts = Readonly<Record<string, number>>;

/** The results of striking runs. */
export interface Tally {
  readonly kills: number;
  readonly byBlow: Counts;
  readonly byWorld: Counts;
  readonly byLaunch: Counts;
  /** The runs that finished with the weights of an undisturbed run. */
  readonly finished: number;
  readonly resumes: number;
  /** The steps that had to be repeated at each resume, in ascending order. */
  readonly lost: readonly number[];
  readonly faults: readonly string[];
}

const count = (counts: Record<string, number>, name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);

/** Collects the results. */
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

  /** The last fault of a run; later faults follow from it and are not counted. */
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

  /** Counts what the strikes have cost, once the run continues with a step. */
  resumed(run: StruckRun, step: number): void {
    if (step > 0) this.#resumes++;
    if (run.struck.length > 0) this.#lost.push(Math.max(0, run.furthest - (step - 1)));
    // The steps after a notice are lost too if a save was abandoned for lack of time.
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

/** Adds up the results of several strands. */
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
