import { lastGood } from '../../../src/store/resume/last-good.ts';
import { readRun } from '../../../src/store/folder/store.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { formatDuration } from '../../../src/core/duration.ts';
import type { Rng } from '../../../src/core/rng.ts';
import type { Supervised } from '../../support/supervised.ts';
import { killHard } from '../../support/trainer-process.ts';
import { type Blow, BLOWS, describeProcess, startedIn } from './blows.ts';
import { EVERY, type Launch, type RunOptions, StruckRun } from './struck-run.ts';
import { type Tally, TallyBook, together } from './tally.ts';
import type { Twins } from './twins.ts';
import { weightsIn } from './weights.ts';

/**
 * Some strikes hit while the launcher and the ranks start, the others at any moment within a few
 * saves.
 */
const EARLY = 0.15;
const STARTUP_MS = 3000;
const MOST_STEPS = 4 * EVERY;
const LOOK_MS = 5;
/**
 * The pause between searches for a rank that has not started, because each search looks at every
 * process.
 */
const LOOK_AROUND_MS = 50;
const JITTER_MS = 100;
/**
 * Ten times as long as any attempt takes on a busy machine. A longer one does not end by itself.
 */
const LIFE_MS = 600_000;

export interface StrikeOptions extends Pick<RunOptions, 'torchrun' | 'steps' | 'manner'> {
  /** The strikes in their order; drawn at random when omitted. */
  readonly blows?: readonly string[];
  readonly count: number;
  /** The possible numbers of ranks, and the ways to start them. */
  readonly worlds: readonly number[];
  readonly launches: readonly Launch[];
  readonly twins: Twins;
  /** No strike hits an attempt before it has sealed a save. */
  readonly isSealedFirst?: boolean;
  /** The folders of runs with findings stay for inspection. */
  readonly isKept?: boolean;
  /** An attempt that lasts longer is killed and counts as a finding. */
  readonly lifeMs?: number;
  readonly rng: Rng;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onKill?: (kills: number, blow: string) => void;
  /** The result of a finished run, and its folder. */
  readonly onRun?: (tally: Tally, dir: string) => void;
}

/**
 * Strikes runs of a real torchrun again and again, at random moments. A run that finishes is
 * checked, and a new one follows.
 */
export async function strike(options: StrikeOptions): Promise<Tally> {
  const striker = new Striker(options);
  try {
    while (striker.kills < options.count && !options.signal.aborted) await striker.live(true);
    await striker.finish();
  } finally {
    striker.clear();
  }
  return striker.tally();
}

/** One attempt. */
interface Scene {
  readonly run: StruckRun;
  readonly life: Supervised;
  readonly ended: AbortSignal;
}

class Striker {
  readonly #options: StrikeOptions;
  readonly #tallies: Tally[] = [];
  /** The current run. */
  #book = new TallyBook();
  #run: StruckRun | null = null;

  constructor(options: StrikeOptions) {
    this.#options = options;
  }

  get kills(): number {
    return this.#tallies.reduce((sum, { kills }) => sum + kills, this.#book.kills);
  }

  tally(): Tally {
    return together(this.#tallies);
  }

  /** Plays one attempt to its end, or to a strike on the way. */
  async live(isStruck: boolean): Promise<void> {
    const run = (this.#run ??= this.#begin());
    const life = run.start();
    const over = new AbortController();
    void life.died.then(() => over.abort());
    const scene = { run, life, ended: over.signal };
    const bounded = this.#bound(scene);
    const isFallen = (await this.#comesTo(scene, isStruck)) && (await this.#blow(scene));
    if (!isFallen) await this.#end(run, await life.ended);
    if (await bounded) this.clear();
  }

  /**
   * Ends an attempt that hangs, with all its processes, and reports what they were doing. Returns
   * true when it had to.
   */
  async #bound({ run, life, ended }: Scene): Promise<boolean> {
    const { clock, lifeMs = LIFE_MS } = this.#options;
    try {
      await clock.sleep(lifeMs, { signal: ended });
    } catch {
      return false;
    }
    const living = startedIn(run.dir);
    const blow = run.struck.at(-1);
    this.#book.giveUp(
      `a life did not end within ${formatDuration(lifeMs)}${blow === undefined ? '' : ` after ${blow}`}, ${run.world} ranks, ${run.launch.name}, step ${run.reached()}; what lived: ${living.map(describeProcess).join(', ') || 'nothing'}`,
    );
    for (const pid of living) killHard(pid);
    life.kill();
    return true;
  }

  /** Plays the current run to its end without further strikes. */
  async finish(): Promise<void> {
    while (this.#run !== null && this.#book.faults.length === 0) await this.live(false);
  }

  /** Closes the run, whatever its result. */
  clear(): void {
    const run = this.#run;
    if (run === null) return;
    for (const pid of startedIn(run.dir)) killHard(pid);
    this.#run = null;
    const tally = this.#book.tally();
    this.#book = new TallyBook();
    this.#tallies.push(tally);
    if (this.#options.isKept !== true || tally.faults.length === 0) run.remove();
    this.#options.onRun?.(tally, run.dir);
  }

  #draw<T>(list: readonly T[]): T {
    return list[Math.floor(this.#options.rng.next() * list.length)] as T;
  }

  #begin(): StruckRun {
    const { torchrun, steps, manner = [], worlds, launches } = this.#options;
    return new StruckRun({ torchrun, steps, manner, world: this.#draw(worlds), launch: this.#draw(launches) });
  }

  /**
   * Waits for the moment of the strike; false when the attempt ends before, or when none is
   * planned.
   */
  async #comesTo(scene: Scene, isStruck: boolean): Promise<boolean> {
    const { rng, clock, isSealedFirst } = this.#options;
    const { run, life, ended } = scene;
    const isEarly = isStruck && this.#isEarly();
    const hasBegun = await run.waitForNumber(life);
    if (hasBegun) this.#lookForOrphans(run);
    const first = hasBegun ? (isEarly ? -1 : await this.#begun(scene)) : null;
    if (first === null || !isStruck) return false;
    if (isSealedFirst === true) await life.line(/sealed step/);
    const until = isEarly ? -1 : first + rng.next() * MOST_STEPS;
    while (run.reached() < until && !ended.aborted) await clock.sleep(LOOK_MS);
    await clock.sleep(rng.next() * (isEarly ? STARTUP_MS : JITTER_MS), { signal: ended }).catch(() => {});
    return !ended.aborted;
  }

  #isEarly(): boolean {
    const { rng, isSealedFirst = false } = this.#options;
    return !isSealedFirst && rng.next() < EARLY;
  }

  /** The next supervisor ends processes that have outlived theirs, before it reports its start. */
  #lookForOrphans(run: StruckRun): void {
    const alive = new Set(run.orphans.length > 0 ? startedIn(run.dir) : []);
    // The number may belong to a new process.
    for (const pid of startedIn(run.dir, run.attempt)) alive.delete(pid);
    for (const pid of run.orphans.filter((one) => alive.has(one))) {
      this.#book.fault(`what had outlived its supervisor lives on beside attempt ${run.attempt}: ${describeProcess(pid)}`);
      killHard(pid);
    }
    run.orphans = [];
  }

  /** Resolves to the first step of the ranks; null when the attempt ended before. */
  async #begun({ run, life }: Scene): Promise<number | null> {
    const line = await life.line(/^(start|bad) /).catch(() => null);
    if (line === null) return null;
    const [word, , step] = line.split(' ');
    if (word === 'bad') this.#book.fault(`a rank read what is not of its step: ${line}`);
    // This may be further than the last sealed step at the strike, because the next attempt seals
    // saves from memory.
    if (Number(step) <= run.good) this.#book.fault(`a life began with step ${step}, although step ${run.good} is a good one`);
    this.#book.resumed(run, Number(step));
    return Number(step);
  }

  /** Returns false when the attempt ended by itself, even at the same moment. */
  async #blow(scene: Scene): Promise<boolean> {
    const { run, life } = scene;
    const { blows = [], onKill } = this.#options;
    const name = blows[this.kills] ?? this.#draw(Object.keys(BLOWS));
    const blow = BLOWS[name] as Blow;
    const before = run.reached();
    if (!(await this.#falls(scene, blow))) return false;
    const { code, signal } = await life.died;
    if (code === 0) {
      if (run.reached() < this.#options.steps - 1) this.#book.fault(`${name}: it ended with 0 at step ${run.reached()}`);
      run.isHitAtItsEnd = true;
      return false;
    }
    const counted = blow.counts[String(signal ?? code)];
    if (counted === undefined) this.#book.fault(`${name}: the life ended with ${signal ?? code}`);
    run.struck = [...run.struck, name];
    run.orphans = startedIn(run.dir);
    // A trainer without a supervisor may do anything.
    run.furthest = Math.max(run.furthest, run.orphans.length > 0 ? before : run.reached());
    run.atBlow = Math.max(run.atBlow, before);
    run.good = await this.#look(run, name);
    if (counted !== undefined) this.#book.struck(run, counted);
    onKill?.(this.kills, counted ?? name);
    return true;
  }

  /** Returns false when the attempt ended before there was a process to strike. */
  async #falls({ run, life, ended }: Scene, { fall }: Blow): Promise<boolean> {
    const { rng, clock } = this.#options;
    const sleep = (ms: number): Promise<void> => clock.sleep(ms, { signal: ended }).catch(() => {});
    const struck = { run: life, dir: run.dir, attempt: run.attempt, chance: () => rng.next(), sleep };
    while (!(await fall(struck))) {
      if (ended.aborted) return false;
      await clock.sleep(LOOK_AROUND_MS);
    }
    return true;
  }

  /**
   * Checks the last good step, every byte of it. A sealed checkpoint must never turn bad, and a
   * sealed step must never be lost.
   */
  async #look(run: StruckRun, blow: string): Promise<number> {
    const { checkpoint, skipped } = await lastGood(readRun(run.dir), { level: 'deep', isReadOnly: true });
    for (const { name, reason } of skipped) this.#book.fault(`${blow}: ${name} is sealed and bad: ${reason}`);
    const step = checkpoint?.manifest.step ?? -1;
    if (step < run.good) this.#book.fault(`${blow}: the last good step was ${run.good} and is ${step}`);
    return step;
  }

  async #end(run: StruckRun, { code, stdout, stderr }: Awaited<Supervised['ended']>): Promise<void> {
    const { torchrun, steps, twins } = this.#options;
    const found = weightsIn(stdout, run.world);
    if (code !== 0) this.#book.fault(`a life that was not ended by a blow ended with ${code}:\n${stderr.slice(-4000)}`);
    else if ('fault' in found) {
      // A rank that has finished may be killed before it has printed its weights.
      if (!run.isHitAtItsEnd) this.#book.fault(found.fault);
    } else {
      const twin = await twins.weights({ torchrun, steps, world: run.world });
      if ('fault' in twin) this.#book.fault(twin.fault);
      else if (found.weights !== twin.weights)
        this.#book.fault(`${run.world} ranks: weights ${found.weights}, and ${twin.weights} in the run that was never interrupted`);
      else this.#book.finished();
    }
    this.clear();
  }
}
