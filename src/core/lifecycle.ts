import { HoldfastError, toError } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** The part of a process that a lifecycle needs; the real one, or a test's. */
export interface SignalSource {
  on(event: StopSignal, listener: () => void): unknown;
  off(event: StopSignal, listener: () => void): unknown;
  exit(code: ExitCode): void;
}

/**
 * The life of one command, from its start to its one end.
 *
 * Running: `signal` is open and work goes on. The first SIGINT, SIGTERM or {@link fail} makes it stopping.
 * Stopping: `signal` is aborted with the reason; whoever holds it cleans up and returns. Errors that come now are kept beside the
 * first, which stays the reason: it is the cause, they are mostly its consequences. A second SIGINT or SIGTERM ends the process at once.
 * Closed: the listeners are gone and signals have their default effect again, or are heard by whoever took them over.
 */
export class Lifecycle implements Disposable {
  readonly #controller = new AbortController();
  readonly #process: SignalSource;
  readonly #listeners: readonly (readonly [StopSignal, () => void])[];
  readonly #later: Error[] = [];
  #reason: Error | null = null;
  /** The signal that is the reason; null: none is. */
  #heard: StopSignal | null = null;

  constructor(source: SignalSource) {
    this.#process = source;
    this.#listeners = (['SIGINT', 'SIGTERM'] as const).map((name) => [name, () => this.#onSignal(name)] as const);
    for (const [name, listener] of this.#listeners) source.on(name, listener);
  }

  /** Aborted when the command shall end; its reason is the error the command ends with. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The first error, which decides how the command ends; null while it runs. */
  get reason(): Error | null {
    return this.#reason;
  }

  /** Errors that came after the first. */
  get later(): readonly Error[] {
    return this.#later;
  }

  /** Ends the command because of an error; the first one wins. */
  fail(thrown: unknown): void {
    const error = toError(thrown);
    if (this.#reason === null) {
      this.#reason = error;
      this.#controller.abort(error);
    } else if (error !== this.#reason) this.#later.push(error);
  }

  /** Runs the work of the command. An abort it answers with, whatever error it made of it, ends in the first error. */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let result: T | undefined;
    try {
      result = await work(this.signal);
    } catch (thrown) {
      this.fail(thrown);
    }
    if (this.#reason !== null) throw this.#reason;
    return result as T;
  }

  /** From now on another hears the signals. What has come before is its to answer, too, and no reason for an end here any more; null: nothing has. */
  handOver(): StopSignal | null {
    this[Symbol.dispose]();
    const heard = this.#heard;
    if (heard !== null) this.#reason = null;
    return heard;
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) this.#process.off(name, listener);
  }

  #onSignal(name: StopSignal): void {
    const error = stopped(name);
    if (this.#reason === null) {
      this.#heard = name;
      this.fail(error);
    } else this.#process.exit(error.exitCode);
  }
}

function stopped(name: StopSignal): HoldfastError {
  return name === 'SIGINT'
    ? new HoldfastError('INTERRUPTED', { message: 'stopped by Ctrl-C' })
    : new HoldfastError('TERMINATED', { message: 'stopped by SIGTERM' });
}

/** The exit code an error ends the process with. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof HoldfastError ? error.exitCode : EXIT.internal;
}
