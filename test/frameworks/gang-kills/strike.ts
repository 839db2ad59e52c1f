import { lastGood } from '../../../src/checkpoint/store/last-good.ts';
import { readRun } from '../../../src/checkpoint/store/store.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { Rng } from '../../../src/core/rng.ts';
import type { Supervised } from '../../support/supervised.ts';
import { killHard } from '../../support/trainer-process.ts';
import { BLOWS, startedIn } from './blows.ts';
import { EVERY, type Launch, type RunOptions, StruckRun } from './struck-run.ts';
import { TallyBook, type Tally } from './tally.ts';
import { weightsIn } from './weights.ts';

/** Some fall while the launcher and the ranks come up, the others within some saves, at any moment of one. */
const EARLY = 0.15;
const STARTUP_MS = 3000;
const MOST_STEPS = 4 * EVERY;
const LOOK_MS = 5;
const JITTER_MS = 100;

export interface StrikeOptions extends Pick<RunOptions, 'torchrun' | 'steps' | 'manner'> {
  /** Blows in the order in which they fall; drawn when left out. */
  readonly blows?: readonly string[];
  readonly count: number;
  /** How many ranks a run may have, and how they may be started. */
  readonly worlds: readonly number[];
  readonly launches: readonly Launch[];
  /** No blow falls on a life before it has sealed something. */
  readonly isSealedFirst?: boolean;
  readonly rng: Rng;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onKill?: (kills: number, blow: string) => void;
}

/** Strikes runs of a real torchrun again and again, at random moments; a run that comes to its end is compared and followed by a new one. */
export async function strike(options: StrikeOptions): Promise<Tally> {
  const striker = new Striker(options);
  try {
    while (striker.book.kills < options.count && !options.signal.aborted) await striker.live(true);
    await striker.finish();
  } finally {
    striker.clear();
  }
  return striker.book.tally();
}

/** One life. */
interface Scene {
  readonly run: StruckRun;
  readonly life: Supervised;
  readonly ended: AbortSignal;
}

class Striker {
  readonly book = new TallyBook();
  readonly #options: StrikeOptions;
  readonly #twins = new Map<number, string>();
  #run: StruckRun | null = null;

  constructor(options: StrikeOptions) {
    this.#options = options;
  }

  /** One life: to its end, or to a blow somewhere on the way. */
  async live(isStruck: boolean): Promise<void> {
    const run = (this.#run ??= this.#begin(this.#draw(this.#options.worlds), this.#draw(this.#options.launches)));
    const life = run.start();
    const over = new AbortController();
    void life.ended.then(() => over.abort());
    const scene = { run, life, ended: over.signal };
    const isFallen = (await this.#comesTo(scene, isStruck)) && (await this.#blow(scene));
    if (!isFallen) await this.#end(run, await life.ended);
  }

  /** Without further blows, to the end of the run that was struck last. */
  async finish(): Promise<void> {
    while (this.#run !== null && this.book.faults.length === 0) await this.live(false);
  }

  clear(): void {
    const run = this.#run;
    if (run === null) return;
    for (const pid of startedIn(run.dir)) killHard(pid);
    run.remove();
    this.#run = null;
  }

  #draw<T>(list: readonly T[]): T {
    return list[Math.floor(this.#options.rng.next() * list.length)] as T;
  }

  #begin(world: number, launch: Launch): StruckRun {
    const { torchrun, steps, manner = [] } = this.#options;
    return new StruckRun({ torchrun, steps, manner, world, launch });
  }

  /** The moment at which the blow shall fall; false when the life ends before, or none shall fall. */
  async #comesTo(scene: Scene, isStruck: boolean): Promise<boolean> {
    const { rng, clock } = this.#options;
    const { run, life, ended } = scene;
    const isEarly = isStruck && this.#isEarly();
    const first = isEarly ? await stepOf(life, /attempt \d+ of the run/) : await this.#begun(scene);
    endOrphans(run);
    if (first === null || !isStruck) return false;
    if (this.#options.isSealedFirst === true) await life.line(/sealed step/);
    const until = isEarly ? -1 : first + rng.next() * MOST_STEPS;
    while (run.reached() < until && !ended.aborted) await clock.sleep(LOOK_MS);
    await clock.sleep(rng.next() * (isEarly ? STARTUP_MS : JITTER_MS), { signal: ended }).catch(() => {});
    return !ended.aborted;
  }

  #isEarly(): boolean {
    const { rng, isSealedFirst = false } = this.#options;
    return !isSealedFirst && rng.next() < EARLY;
  }

  /** The step that the ranks begin with; null when the life ended before. */
  async #begun({ run, life }: Scene): Promise<number | null> {
    const line = await life.line(/^(start|bad) /).catch(() => null);
    if (line === null) return null;
    const [word, , step] = line.split(' ');
    if (word === 'bad') this.book.fault(`a rank read what is not of its step: ${line}`);
    // Further than what was sealed when it was struck: what lay in memory is sealed by the next life.
    if (Number(step) <= run.good) this.book.fault(`a life began with step ${step}, although step ${run.good} is a good one`);
    this.book.resumed(run, Number(step));
    return Number(step);
  }

  /** False when the life ended before anything could be done to it. */
  async #blow({ run, life, ended }: Scene): Promise<boolean> {
    const { rng, clock, blows = [], onKill } = this.#options;
    const blow = blows[this.book.kills] ?? this.#draw(Object.keys(BLOWS));
    const strikeIt = (): Promise<boolean> | boolean =>
      BLOWS[blow]?.({ run: life, dir: run.dir, chance: () => rng.next(), sleep: async (ms) => clock.sleep(ms) }) ?? true;
    const before = run.reached();
    while (!(await strikeIt())) {
      if (ended.aborted) return false;
      await clock.sleep(LOOK_MS);
    }
    run.struck = [...run.struck, blow];
    await life.died;
    run.orphans = startedIn(run.dir);
    // What a trainer does when its supervisor is dead nobody can keep.
    run.furthest = Math.max(run.furthest, run.orphans.length > 0 ? before : run.reached());
    run.atBlow = Math.max(run.atBlow, before);
    run.good = await this.#look(run, blow);
    this.book.struck(run, blow);
    onKill?.(this.book.kills, blow);
    return true;
  }

  /** The last good step, every byte compared; nothing that was ever sealed may have gone bad, and no step may be lost again. */
  async #look(run: StruckRun, blow: string): Promise<number> {
    const { checkpoint, skipped } = await lastGood(readRun(run.dir), { level: 'deep', isReadOnly: true });
    for (const { name, reason } of skipped) this.book.fault(`${blow}: ${name} is sealed and bad: ${reason}`);
    const step = checkpoint?.manifest.step ?? -1;
    if (step < run.good) this.book.fault(`${blow}: the last good step was ${run.good} and is ${step}`);
    return step;
  }

  async #end(run: StruckRun, { code, stdout, stderr }: Awaited<Supervised['ended']>): Promise<void> {
    this.clear();
    if (code !== 0) return this.book.fault(`a life that was not ended by a blow ended with ${code}:\n${stderr.slice(-4000)}`);
    const found = weightsIn(stdout, run.world);
    const twin = await this.#twin(run.world);
    if ('fault' in found) this.book.fault(found.fault);
    else if (found.weights !== twin)
      this.book.fault(`${run.world} ranks: weights ${found.weights}, and ${twin} in the run that was never interrupted`);
    else this.book.finished();
  }

  /** The weights of a run that was never interrupted. */
  async #twin(world: number): Promise<string> {
    const known = this.#twins.get(world);
    if (known !== undefined) return known;
    const run = this.#begin(world, this.#options.launches[0] as Launch);
    try {
      const { code, stdout, stderr } = await run.start().ended;
      const found = weightsIn(stdout, world);
      if (code !== 0 || 'fault' in found) {
        this.book.fault(
          `the run that nobody interrupts ended with ${code}${'fault' in found ? `: ${found.fault}` : ''}:\n${stderr.slice(-2000)}`,
        );
        return '';
      }
      this.#twins.set(world, found.weights);
      return found.weights;
    } finally {
      run.remove();
    }
  }
}

/** What an earlier life has left alive, and what lives still. */
function endOrphans(run: StruckRun): void {
  const alive = new Set(run.orphans.length > 0 ? startedIn(run.dir) : []);
  for (const pid of run.orphans) if (alive.has(pid)) killHard(pid);
  run.orphans = [];
}

/** Before the first step, once a line like this is there; null when the life ended before. */
async function stepOf(life: Supervised, pattern: RegExp): Promise<number | null> {
  return life.line(pattern).then(
    () => -1,
    () => null,
  );
}
