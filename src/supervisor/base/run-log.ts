import { existsSync } from 'node:fs';
import type { Clock } from '../../core/clock.ts';
import { bounded } from '../../core/bounded.ts';
import { HoldfastError, systemCode, toError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { renderTerminationMessage, type TerminationMessage } from '../../domain/exit/termination-message.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import { historyBefore, type RunHistory } from '../../ledger/history.ts';
import { readLedger } from '../../ledger/reader.ts';
import { LastWordsFile } from './last-words-file.ts';
import { type LedgerWriter, openLedger } from '../../ledger/writer.ts';

/** The file that Kubernetes reads a container's termination message from. */
export const KUBERNETES_LOG = '/dev/termination-log';
/**
 * How long to wait for the disk when a ledger closes. The kernel has the data by then, even if the
 * wait ends early.
 */
const CLOSE_MS = 2000;
/** How much of each ledger file to read: the newest days of a run are enough, and quick to read. */
const MOST_HISTORY_BYTES = 4 * 1024 * 1024;

/** Where the log of a run writes. */
export interface RunLogOptions {
  readonly dir: string;
  readonly node: string;
  readonly clock: Clock;
  /** The file for the termination message; null: the one of Kubernetes, if it exists. */
  readonly terminationLog: string | null;
  /** Prints a line for people. */
  readonly say: (text: string) => void;
  /** Prints a line that people must see, also in quiet mode. */
  readonly shout: (text: string) => void;
}

/**
 * The records of a run: the ledger, the termination message, and lines for people. It never throws:
 * when something cannot be recorded it prints a warning, and training goes on.
 */
export class RunLog {
  readonly node: string;
  readonly #options: RunLogOptions;
  readonly #message: LastWordsFile | null;
  #ledger: LedgerWriter | null = null;
  #attempt: number | null = null;
  #isEnded = false;
  #listener: (event: LedgerEvent) => void = () => {};
  #held: string[] = [];
  #left: TerminationMessage | null = null;

  constructor(options: RunLogOptions) {
    this.node = options.node;
    this.#options = options;
    const path = options.terminationLog ?? (existsSync(KUBERNETES_LOG) ? KUBERNETES_LOG : null);
    const complain = (thrown: unknown): void =>
      this.warn(`the termination message cannot be written to ${path}: ${systemCode(thrown) ?? String(thrown)}`);
    this.#message = path === null ? null : new LastWordsFile(path, complain);
  }

  /** Opens the ledger of an attempt, in place of the one before. */
  async open(attempt: number): Promise<void> {
    await this.close();
    this.#attempt = attempt;
    this.#isEnded = false;
    const { dir, node, clock } = this.#options;
    try {
      this.#ledger = openLedger(dir, { attempt, node, clock, onFailure: (error) => this.complain(error) });
    } catch (thrown) {
      this.complain(thrown);
    }
  }

  /** The history of earlier attempts; empty when it cannot be read. */
  history(attempt: number): RunHistory {
    try {
      return historyBefore(attempt, readLedger(this.#options.dir, MOST_HISTORY_BYTES).events);
    } catch (thrown) {
      this.complain(thrown);
      return historyBefore(attempt, []);
    }
  }

  record(event: LedgerEvent): void {
    if (event.kind === 'attempt-ended') this.#isEnded = true;
    this.#ledger?.append(event);
    this.#listener(event);
  }

  /** Sets the listener that gets every event recorded from now on. */
  listen(onRecord: (event: LedgerEvent) => void): void {
    this.#listener = onRecord;
  }

  /** The attempt whose ledger is open; null before the first. */
  get attempt(): number | null {
    return this.#attempt;
  }

  /** True while that attempt has no recorded end. */
  get isAttemptOpen(): boolean {
    return this.#attempt !== null && !this.#isEnded;
  }

  /** Prints a line for people, on standard error alone. */
  say(text: string): void {
    this.#sayHeld();
    this.#options.say(printable(text));
  }

  /**
   * Prints a line before the next one, and at the latest when the event loop is idle. A slow reader
   * of standard error may block the supervisor, so urgent work goes first.
   */
  sayLater(text: string): void {
    this.#held.push(text);
    setImmediate(() => this.#sayHeld());
  }

  #sayHeld(): void {
    for (const text of this.#held.splice(0)) this.#options.say(printable(text));
  }

  /** Prints a line for people, also in quiet mode; the caller records it in its own way. */
  shout(text: string): void {
    this.#sayHeld();
    this.#options.shout(printable(text));
  }

  /** Prints a warning and records it. */
  warn(text: string): void {
    this.shout(`warning: ${text}`);
    this.record({ kind: 'note', level: 'warning', code: null, sentence: text });
  }

  /** Reports an internal error that does not end training. */
  complain(thrown: unknown): void {
    const error = toError(thrown);
    const code = error instanceof HoldfastError ? error.code : 'INTERNAL';
    this.shout(`error ${code}: ${error.message}`);
    this.record({ kind: 'note', level: 'error', code, sentence: error.message });
  }

  /** The last termination message. */
  get left(): TerminationMessage | null {
    return this.#left;
  }

  /** Writes the termination message, in place, because the file is a mount. */
  leave(message: TerminationMessage): void {
    this.#left = message;
    this.#message?.write(renderTerminationMessage(message));
  }

  /**
   * Closes the ledger and waits for the termination message; false when a file has not answered in
   * time.
   */
  async end(patienceMs: number): Promise<boolean> {
    const areWritten = await Promise.all([this.#message?.close(patienceMs, this.#options.clock), this.close(patienceMs)]);
    return !areWritten.includes(false);
  }

  /** Closes the open ledger; false when the disk has not answered in time. */
  async close(patienceMs = CLOSE_MS): Promise<boolean> {
    this.#sayHeld();
    const ledger = this.#ledger;
    this.#ledger = null;
    if (ledger === null) return true;
    const closed = ledger.close().then(
      () => true,
      (thrown: unknown) => {
        this.complain(thrown);
        return true;
      },
    );
    return (await bounded(closed, patienceMs, this.#options.clock)) ?? false;
  }
}
