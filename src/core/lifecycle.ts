import { setImmediate } from 'node:timers/promises';
import { HoldfastError, toError } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** A signal that stops a command. */
export type StopSignal = 'SIGINT' | 'SIGTERM';

/** The part of a process that a lifecycle needs: the real one, or one of a test. */
export interface SignalSource {
  on(event: StopSignal, listener: () => void): unknown;
  off(event: StopSignal, listener: () => void): unknown;
  exit(code: ExitCode): void;
  /** The kernel keeps from a first process the signals that it does not listen to. */
  readonly isFirst?: boolean;
}

/** Runs work that holds the thread; a signal ends the process while it runs, and not after it. */
export type WhileBusy = <T>(work: () => T) => Promise<T>;

/**
 * The life of one command, from its start to its one end.
 *
 * Running: `signal` is open and work continues. The first SIGINT, SIGTERM or {@link fail} makes it
 * stopping.
 * Stopping: `signal` is aborted with the reason; each holder cleans up and returns. The first error
 * stays the reason, because later errors mostly follow from it; they are kept beside it. A second
 * SIGINT or SIGTERM ends the process at once.
 * Busy: work holds the thread, so that no listener would be called before its end. Signals have
 * their default effect, which ends the process at once.
 * Closed: the listeners are gone. Signals have their default effect again, or go to the component
 * that took them over.
 */
export class Lifecycle implements Disposable {
  readonly #controller = new AbortController();
  readonly #process: SignalSource;
  readonly #listeners: readonly (readonly [StopSignal, () => void])[];
  readonly #later: Error[] = [];
  #reason: Error | null = null;
  #isListening = false;
  /** The signal that caused the stop; null: none. */
  #heard: StopSignal | null = null;

  constructor(source: SignalSource) {
    this.#process = source;
    this.#listeners = (['SIGINT', 'SIGTERM'] as const).map((name) => [name, () => this.#onSignal(name)] as const);
    this.#listen();
  }

  /** Aborted to end the command; its reason is the error that the command ends with. */
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

  /**
   * Runs the work of the command. If the work ends by the abort, with any error, the first error is
   * the result.
   */
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

  /**
   * Runs work that only computes, and leaves nothing behind that a sudden end would break. The
   * signals of a first process stay as they are: the kernel would discard them.
   */
  readonly whileBusy: WhileBusy = async (work) => {
    // A signal that came while something else held the thread is heard in the next turn that polls,
    // and lost without its listener.
    for (let turn = 0; turn < 2; turn++) await setImmediate();
    if (this.#reason !== null) throw this.#reason;
    if (!this.#isListening || this.#process.isFirst === true) return work();
    this[Symbol.dispose]();
    try {
      return work();
    } finally {
      this.#listen();
    }
  };

  /**
   * Hands the signals over to another listener. Returns the signal that came before, which no
   * longer ends the command here; null: none came.
   */
  handOver(): StopSignal | null {
    this[Symbol.dispose]();
    const heard = this.#heard;
    if (heard !== null) this.#reason = null;
    return heard;
  }

  #listen(): void {
    this.#isListening = true;
    for (const [name, listener] of this.#listeners) this.#process.on(name, listener);
  }

  [Symbol.dispose](): void {
    this.#isListening = false;
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
