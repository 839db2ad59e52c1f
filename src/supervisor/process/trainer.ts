import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Clock } from '../../core/clock.ts';
import type { TrainerExit } from '../../domain/exit/exit-contract.ts';
import { cannotRun } from './find-program.ts';
import { ExitSignalPipe, STREAMS_AND_EXIT_SIGNAL } from './exit-signal-pipe.ts';
import { catchesSignal, kinOf, type Kinship } from './process-table.ts';

/** The variable whose value marks every process that the trainer starts. */
const MARK_NAME = 'HOLDFAST_MARK';

/** How to start the trainer. */
export interface TrainerOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The value that marks the trainer's processes, unique to this start. */
  readonly mark: string;
}

/** How long to look again for processes that are being killed, and how often. */
const KILL_ROUNDS = 400;
const KILL_PAUSE_MS = 5;

/**
 * The trainer and every process it starts. It leads a session of its own, so that Ctrl-C and a
 * closing terminal reach the supervisor alone. The supervisor then decides what to pass on. The
 * trainer's standard streams are the supervisor's own: a terminal stays one, and no line can be
 * lost in between.
 */
export class Trainer {
  readonly pid: number;
  readonly ended: Promise<TrainerExit>;
  readonly #mark: string;
  readonly #lifeline: ExitSignalPipe;
  #end: TrainerExit | null = null;

  private constructor(pid: number, mark: string, lifeline: ExitSignalPipe, ended: Promise<TrainerExit>) {
    this.pid = pid;
    this.#mark = mark;
    this.#lifeline = lifeline;
    this.ended = ended.then((end) => (this.#end = end));
  }

  /**
   * Resolves when the program runs; a command that cannot be run is an error with its own exit
   * code.
   */
  static async start({ command, env, mark }: TrainerOptions): Promise<Trainer> {
    const [program = '', ...args] = command;
    const child = launch(program, args, { ...env, [MARK_NAME]: mark });
    const lifeline = new ExitSignalPipe(child);
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

  /**
   * Looks for a fatal signal after a connection of the trainer was closed, because the trainer may
   * be dying.
   */
  look(): void {
    if (this.#end === null) this.#lifeline.look();
  }

  /** The marks that tell the trainer's processes from others. */
  get kinship(): Kinship {
    return { root: this.pid, mark: `${MARK_NAME}=${this.#mark}` };
  }

  /**
   * Signals the trainer's own process alone, which passes the signal on as it always does. SIGINT
   * goes to its whole process group, as from a terminal. A shell in front counts on that, and only
   * waits for its children.
   */
  tell(signal: NodeJS.Signals): void {
    if (this.#end === null) send(signal === 'SIGINT' ? -this.pid : this.pid, signal);
  }

  /**
   * Whether the trainer's own process has a handler for the signal; false when this cannot be read.
   * Without a handler most signals would kill it.
   */
  catches(signal: NodeJS.Signals): boolean {
    return catchesSignal(this.pid, constants.signals[signal]);
  }

  /** Signals every living process of the trainer. */
  tellAll(signal: NodeJS.Signals): void {
    for (const pid of this.living()) send(pid, signal);
  }

  /** The living processes of the trainer, itself included. */
  living(): readonly number[] {
    const kin = kinOf(this.kinship);
    return kin.length > 0 || this.#end !== null ? kin : [this.pid];
  }

  /**
   * Ends the processes that the trainer left behind: signals them, waits at most this long, and
   * kills. True when there were any.
   */
  async endRest(clock: Clock, graceMs: number): Promise<boolean> {
    if (this.living().length === 0) return false;
    this.tellAll('SIGTERM');
    const untilMs = clock.monotonic() + graceMs;
    while (this.living().length > 0 && clock.monotonic() < untilMs) await clock.sleep(KILL_PAUSE_MS);
    await this.killAll(clock);
    return true;
  }

  /**
   * Kills every living process of the trainer, also those that left its session, until none is
   * left. False when one cannot be killed.
   */
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

/** Starts the trainer without the pipe when the limit on open files leaves no descriptor for it. */
function launch(program: string, args: readonly string[], env: TrainerOptions['env']): ChildProcess {
  const start = (stdio: StdioOptions): ChildProcess => spawn(program, args, { detached: true, stdio, env });
  try {
    return start(STREAMS_AND_EXIT_SIGNAL);
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
    // The process ended by itself, as intended, or changed its user and cannot be signalled.
  }
}
