import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Supervised } from '../../support/supervised.ts';
import { DDP_TRAINER, TORCHRUN_ENV } from '../support/torchrun.ts';
import { GRACE_MS } from './blows.ts';

export const EVERY = 20;
const BEGUN = /attempt (\d+) of the run/;

/** How torchrun starts the ranks. */
export interface Launch {
  readonly name: string;
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Ranks that torchrun forks need not load torch, which takes many times as long as all that they do
 * in a life.
 */
export const LAUNCHES = {
  programs: { name: 'each rank a program of its own', options: [], env: {} },
  forks: {
    name: 'ranks forked from torchrun',
    options: ['--run-path', '--start-method=fork'],
    env: { PYTHONPATH: join(import.meta.dirname, 'preload') },
  },
} as const satisfies Readonly<Record<string, Launch>>;

export interface RunOptions {
  readonly torchrun: string;
  readonly world: number;
  readonly launch: Launch;
  readonly steps: number;
  /** More arguments for the trainer. */
  readonly manner?: readonly string[];
}

/** A run in a folder of its own, and what is known of its lives. */
export class StruckRun {
  readonly #options: RunOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-kills-'));
  /** In memory, where saves go first. */
  readonly #stage = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : this.#folder, 'holdfast-kills-'));
  readonly dir = join(this.#folder, 'run');
  good = -1;
  /**
   * How far the lives since the last resume had come when the blow fell, and when they were over,
   * and what they were struck with.
   */
  atBlow = -1;
  furthest = -1;
  struck: readonly string[] = [];
  /** What an earlier life has left alive. */
  orphans: readonly number[] = [];
  /** The number of this life, once it has begun. */
  attempt = 0;
  /** The last blow fell when the run had finished. */
  isHitAtItsEnd = false;
  #lives = 0;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  get world(): number {
    return this.#options.world;
  }

  get launch(): Launch {
    return this.#options.launch;
  }

  start(): Supervised {
    this.#lives++;
    const { torchrun, world, launch, steps, manner = [] } = this.#options;
    const args = ['--dir', this.dir, '--every', `${EVERY}steps`, '--grace', `${GRACE_MS}ms`, '--stage', this.#stage];
    const script = [DDP_TRAINER, String(steps), this.#reachedFile(), ...manner];
    const command = [torchrun, '--standalone', `--nproc-per-node=${world}`, ...launch.options, ...script];
    return new Supervised({ args, command, env: { ...TORCHRUN_ENV, ...launch.env, TMPDIR: this.#folder } });
  }

  /** Waits until a life has printed its number; false when it ends without one. */
  async waitForNumber(life: Supervised): Promise<boolean> {
    const line = await life.line(BEGUN).catch(() => null);
    this.attempt = Number(BEGUN.exec(line ?? '')?.[1]);
    return line !== null;
  }

  /** How far the first rank has come in this life. */
  reached(): number {
    try {
      return Number(readFileSync(this.#reachedFile()).readBigUInt64LE());
    } catch {
      return -1;
    }
  }

  remove(): void {
    for (const path of [this.#folder, this.#stage]) rmSync(path, { recursive: true, force: true });
  }

  /** A file for each life: one that outlives its supervisor must not speak for the next. */
  #reachedFile(): string {
    return join(this.#folder, `reached-${this.#lives}`);
  }
}
