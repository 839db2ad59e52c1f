import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastGood } from '../../../src/checkpoint/store/last-good.ts';
import { readRun } from '../../../src/checkpoint/store/store.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { Rng } from '../../../src/core/rng.ts';
import { Supervised } from '../../support/supervised.ts';
import { FRAMEWORKS } from '../support/python.ts';
import { BLOWS, GRACE_MS, kill, startedIn } from './blows.ts';

export const TRAINER = 'trainers/torchrun_ddp.py';
const EVERY = 40;
/** Some fall while the launcher and the ranks come up, the others within some saves, at any moment of one. */
const EARLY = 0.15;
const STARTUP_MS = 3000;
const MOST_STEPS = 4 * EVERY;
const LOOK_MS = 5;
const JITTER_MS = 100;
/** A save is sealed while training goes on, and the next one waits for it: so many steps can be made meanwhile, and one more before the first save. */
export const MOST_LOST = 2 * EVERY + 1;

export interface StrikeOptions {
  readonly torchrun: string;
  /** Blows in the order in which they fall; drawn when left out. */
  readonly blows?: readonly string[];
  readonly count: number;
  /** How many ranks a run may have. */
  readonly worlds: readonly number[];
  readonly steps: number;
  readonly rng: Rng;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onKill?: (kills: number, blow: string) => void;
}

/** What came of it. */
export interface Tally {
  readonly kills: number;
  readonly byBlow: Readonly<Record<string, number>>;
  readonly byWorld: Readonly<Record<string, number>>;
  /** Runs that came to their end, each compared with one that was never interrupted. */
  readonly finished: number;
  readonly resumes: number;
  /** Steps that had to be made again at each resume, in ascending order. */
  readonly lost: readonly number[];
  readonly faults: readonly string[];
}

/** Strikes runs of a real torchrun again and again, at random moments; a run that comes to its end is compared and followed by a new one. */
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

/** A run in a folder of its own. */
interface Run {
  readonly folder: string;
  /** In memory, where saves go first. */
  readonly stage: string;
  readonly dir: string;
  readonly world: number;
  good: number;
  /** The furthest step of the lives since the last resume, and what they were struck with. */
  reached: number;
  struck: readonly string[];
  /** What an earlier life has left alive. */
  orphans: readonly number[];
  lives: number;
}

class Striker {
  readonly #options: StrikeOptions;
  readonly #twins = new Map<number, string>();
  readonly #byBlow: Record<string, number> = {};
  readonly #byWorld: Record<string, number> = {};
  readonly #lost: number[] = [];
  readonly #faults: string[] = [];
  #run: Run | null = null;
  #kills = 0;
  #finished = 0;
  #resumes = 0;

  constructor(options: StrikeOptions) {
    this.#options = options;
  }

  get kills(): number {
    return this.#kills;
  }

  tally(): Tally {
    const lost = this.#lost.toSorted((a, b) => a - b);
    const [kills, finished, resumes] = [this.kills, this.#finished, this.#resumes];
    return { kills, byBlow: this.#byBlow, byWorld: this.#byWorld, finished, resumes, lost, faults: this.#faults };
  }

  /** One life: to its end, or to a blow somewhere on the way. */
  async live(isStruck: boolean): Promise<void> {
    const { rng, clock } = this.#options;
    const run = (this.#run ??= this.#begin(this.#drawWorld()));
    const life = this.#start(run);
    const isEarly = isStruck && rng.next() < EARLY;
    const first = isEarly ? await life.line(/attempt \d+ of the run/).then(() => -1) : await this.#begun(life, run);
    for (const pid of run.orphans) kill(pid);
    run.orphans = [];
    if (first === null || !isStruck) return this.#end(run, await life.ended);
    const ended = new AbortController();
    void life.ended.then(() => ended.abort());
    const until = isEarly ? -1 : first + rng.next() * MOST_STEPS;
    while (reachedBy(run) < until && !ended.signal.aborted) await clock.sleep(LOOK_MS);
    await clock.sleep(rng.next() * (isEarly ? STARTUP_MS : JITTER_MS), { signal: ended.signal }).catch(() => {});
    if (ended.signal.aborted) return this.#end(run, await life.ended);
    await this.#blow(run, life);
  }

  /** Without further blows, to the end of the run that was struck last. */
  async finish(): Promise<void> {
    while (this.#run !== null && this.#faults.length === 0) await this.live(false);
  }

  clear(): void {
    const run = this.#run;
    if (run === null) return;
    for (const pid of startedIn(run.dir)) kill(pid);
    remove(run);
    this.#run = null;
  }

  #drawWorld(): number {
    const { worlds, rng } = this.#options;
    return worlds[Math.floor(rng.next() * worlds.length)] ?? 2;
  }

  #begin(world: number): Run {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-kills-'));
    const stage = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : folder, 'holdfast-kills-'));
    return { folder, stage, dir: join(folder, 'run'), world, good: -1, reached: -1, struck: [], orphans: [], lives: 0 };
  }

  #start(run: Run): Supervised {
    const { dir, world, folder, stage } = run;
    run.lives++;
    const { torchrun, steps } = this.#options;
    const args = ['--dir', dir, '--every', `${EVERY}steps`, '--grace', `${GRACE_MS}ms`, '--stage', stage];
    const script = [join(FRAMEWORKS, TRAINER), String(steps), reachedFile(run)];
    const command = [torchrun, '--standalone', `--nproc-per-node=${world}`, ...script];
    return new Supervised({ args, command, env: { OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '', TMPDIR: folder } });
  }

  /** The step that the life begins with; null when it ended before. */
  async #begun(life: Supervised, run: Run): Promise<number | null> {
    const line = await life.line(/^(start|bad) /).catch(() => null);
    if (line === null) return null;
    const [word, , step] = line.split(' ');
    if (word === 'bad') this.#faults.push(`a rank read what is not of its step: ${line}`);
    // Further than what was sealed when it was struck: what lay in memory is sealed by the next life.
    if (Number(step) <= run.good) this.#faults.push(`a life began with step ${step}, although step ${run.good} is a good one`);
    if (Number(step) > 0) this.#resumes++;
    this.#count(run, Number(step) - 1);
    return Number(step);
  }

  async #blow(run: Run, life: Supervised): Promise<void> {
    const { rng, clock, blows = [], onKill } = this.#options;
    const names = Object.keys(BLOWS);
    const blow = blows[this.kills] ?? names[Math.floor(rng.next() * names.length)] ?? '';
    const sleep = async (ms: number): Promise<void> => clock.sleep(ms);
    const before = reachedBy(run);
    await BLOWS[blow]?.({ run: life, dir: run.dir, chance: () => rng.next(), sleep });
    await life.died;
    run.orphans = startedIn(run.dir);
    // What a trainer does when its supervisor is dead nobody can keep.
    run.reached = Math.max(run.reached, run.orphans.length > 0 ? before : reachedBy(run));
    run.struck = [...run.struck, blow];
    run.good = await this.#look(run, blow);
    this.#kills++;
    this.#byBlow[blow] = (this.#byBlow[blow] ?? 0) + 1;
    this.#byWorld[run.world] = (this.#byWorld[run.world] ?? 0) + 1;
    onKill?.(this.kills, blow);
  }

  /** What the blows have cost, now that the run goes on from a step. */
  #count(run: Run, from: number): void {
    const lost = Math.max(0, run.reached - from);
    if (run.struck.length > 0) this.#lost.push(lost);
    if (lost > MOST_LOST)
      this.#faults.push(`${run.struck.join(', ')}: step ${run.reached} was reached, and it goes on from ${from}: ${lost} steps lost`);
    run.reached = -1;
    run.struck = [];
  }

  /** The last good step, every byte compared; nothing that was ever sealed may have gone bad, and no step may be lost again. */
  async #look(run: Run, blow: string): Promise<number> {
    const { checkpoint, skipped } = await lastGood(readRun(run.dir), { level: 'deep', isReadOnly: true });
    for (const { name, reason } of skipped) this.#faults.push(`${blow}: ${name} is sealed and bad: ${reason}`);
    const step = checkpoint?.manifest.step ?? -1;
    if (step < run.good) this.#faults.push(`${blow}: the last good step was ${run.good} and is ${step}`);
    return step;
  }

  async #end(run: Run, { code, stdout, stderr }: Awaited<Supervised['ended']>): Promise<void> {
    this.clear();
    const weights = weightsIn(stdout);
    if (code !== 0) this.#faults.push(`a life that nobody struck ended with ${code}:\n${stderr.slice(-2000)}`);
    else {
      const twin = await this.#twin(run.world);
      if (weights !== twin) this.#faults.push(`${run.world} ranks: weights ${weights}, and ${twin} in the run that was never interrupted`);
    }
    this.#finished++;
  }

  /** The weights of a run that was never interrupted. */
  async #twin(world: number): Promise<string> {
    const known = this.#twins.get(world);
    if (known !== undefined) return known;
    const run = this.#begin(world);
    try {
      const { code, stdout, stderr } = await this.#start(run).ended;
      if (code !== 0) this.#faults.push(`the run that nobody interrupts ended with ${code}:\n${stderr.slice(-2000)}`);
      const weights = weightsIn(stdout);
      this.#twins.set(world, weights);
      return weights;
    } finally {
      remove(run);
    }
  }
}

function remove({ folder, stage }: Run): void {
  for (const path of [folder, stage]) rmSync(path, { recursive: true, force: true });
}

/** The checksums of all ranks, which are one. */
function weightsIn(stdout: string): string {
  const sums = stdout.split('\n').flatMap((line) => (line.startsWith('finished ') ? [line.split(' ')[2] ?? ''] : []));
  return [...new Set(sums)].join(' and ');
}

/** A file for each life: one that outlives its supervisor must not speak for the next. */
function reachedFile({ folder, lives }: Run): string {
  return join(folder, `reached-${lives}`);
}

function reachedBy(run: Run): number {
  try {
    return Number(readFileSync(reachedFile(run)).readBigUInt64LE());
  } catch {
    return -1;
  }
}
