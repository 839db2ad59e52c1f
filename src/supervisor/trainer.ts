import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Clock } from '../core/clock.ts';
import type { TrainerExit } from '../domain/exit-contract.ts';
import { cannotRun } from './find-program.ts';
import { Lifeline, STREAMS_AND_LIFELINE } from './lifeline.ts';
import { catchesSignal, kinOf, type Kinship } from './process-table.ts';

/** The variable whose value marks everything that the trainer starts. */
const MARK_NAME = 'HOLDFAST_MARK';

export interface TrainerOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Makes its processes recognisable; nobody else's has the same. */
  readonly mark: string;
}

/** How long to look again for processes that are being killed, and how often. */
const KILL_ROUNDS = 400;
const KILL_PAUSE_MS = 5;

/**
 * The trainer and everything it starts. It leads a session of its own, so that Ctrl-C and a closing terminal reach the supervisor alone, which
 * passes on what it decides to. Its standard streams are those of the supervisor, untouched: a terminal stays one, and no line can be lost
 * in between.
 */
export class Trainer {
  readonly pid: number;
  readonly ended: Promise<TrainerExit>;
  readonly #mark: string;
  readonly #lifeline: Lifeline;
  #end: TrainerExit | null = null;

  private constructor(pid: number, mark: string, lifeline: Lifeline, ended: Promise<TrainerExit>) {
    this.pid = pid;
    this.#mark = mark;
    this.#lifeline = lifeline;
    this.ended = ended.then((end) => (this.#end = end));
  }

  /** Resolves when the program runs; a command that cannot be run is an error with its own exit code. */
  static async start({ command, env, mark }: TrainerOptions): Promise<Trainer> {
    const [program = '', ...args] = command;
    const child = launch(program, args, { ...env, [MARK_NAME]: mark });
    const lifeline = new Lifeline(child);
    const ended = new Promise<TrainerExit>((resolve) =>
      child.once('exit', (code, signal) => resolve(endOf(code, signal, lifeline.signal))),
    );
    try {
      await once(child, 'spawn');
    } catch (thrown) {
      throw cannotRun(program, thrown);
    }
    return new Trainer(child.pid ?? 0, mark, lifeline, ended);
  }

  /** How it ended; null while it lives. */
  get end(): TrainerExit | null {
    return this.#end;
  }

  /** A connection of it was closed: perhaps it dies right now. */
  look(): void {
    if (this.#end === null) this.#lifeline.look();
  }

  /** How everything that belongs to it is told from what does not. */
  get kinship(): Kinship {
    return { root: this.pid, mark: `${MARK_NAME}=${this.#mark}` };
  }

  /**
   * Signals the trainer's own process alone; what it started it tells as it always does. SIGINT goes to its whole group, as from a terminal: a shell
   * in front counts on that, and only waits for what it has started.
   */
  tell(signal: NodeJS.Signals): void {
    if (this.#end === null) send(signal === 'SIGINT' ? -this.pid : this.pid, signal);
  }

  /** Whether the trainer's own process has a handler for the signal; false where nobody can tell. Without one most signals would kill it. */
  catches(signal: NodeJS.Signals): boolean {
    return catchesSignal(this.pid, constants.signals[signal]);
  }

  /** Signals everything that lives of the trainer. */
  tellAll(signal: NodeJS.Signals): void {
    for (const pid of this.living()) send(pid, signal);
  }

  /** What lives of the trainer, itself included. */
  living(): readonly number[] {
    const kin = kinOf(this.kinship);
    return kin.length > 0 || this.#end !== null ? kin : [this.pid];
  }

  /** Ends what the trainer left behind: asks, waits at most this long, and kills. True when there was something. */
  async endRest(clock: Clock, graceMs: number): Promise<boolean> {
    if (this.living().length === 0) return false;
    this.tellAll('SIGTERM');
    const untilMs = clock.monotonic() + graceMs;
    while (this.living().length > 0 && clock.monotonic() < untilMs) await clock.sleep(KILL_PAUSE_MS);
    await this.killAll(clock);
    return true;
  }

  /** Kills everything that lives of the trainer, also what left its session, until nothing does; false when something cannot be killed. */
  async killAll(clock: Clock): Promise<boolean> {
    if (this.#end === null) send(-this.pid, 'SIGKILL');
    for (let round = 0; round < KILL_ROUNDS; round++) {
      const living = this.living();
      if (living.length === 0) return true;
      for (const pid of living) send(pid, 'SIGKILL');
      await clock.sleep(KILL_PAUSE_MS);
    }
    return false;
  }
}

/** Where so few files may be open that there is no descriptor for a lifeline, it starts without. */
function launch(program: string, args: readonly string[], env: TrainerOptions['env']): ChildProcess {
  const start = (stdio: StdioOptions): ChildProcess => spawn(program, args, { detached: true, stdio, env });
  try {
    return start(STREAMS_AND_LIFELINE);
  } catch {
    return start('inherit');
  }
}

function endOf(code: number | null, signal: NodeJS.Signals | null, unnamed: number | null): TrainerExit {
  if (signal !== null) return { signal };
  return code === 0 && unnamed !== null ? { signal: `SIG${unnamed}` } : { code: code ?? 1 };
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself, which is what was wanted, or changed its user and cannot be told.
  }
}
