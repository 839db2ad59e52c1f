import { existsSync, writeFileSync } from 'node:fs';
import type { Clock } from '../core/clock.ts';
import { bounded } from './bounded.ts';
import { HoldfastError, systemCode, toError } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { renderTerminationMessage, type TerminationMessage } from '../domain/termination-message.ts';
import type { LedgerEvent } from '../ledger/events.ts';
import { historyBefore, type RunHistory } from '../ledger/history.ts';
import { readLedger } from '../ledger/reader.ts';
import { type LedgerWriter, openLedger } from '../ledger/writer.ts';

/** Where a container leaves its last words. */
export const KUBERNETES_LOG = '/dev/termination-log';
/** How long the disk is waited for at the end of a page; what it was given it has, also when nobody waits. */
const CLOSE_MS = 2000;
/** The newest days of a run tell enough, and are read in a moment. */
const MOST_HISTORY_BYTES = 4 * 1024 * 1024;

export interface BookOptions {
  readonly dir: string;
  readonly node: string;
  readonly clock: Clock;
  /** The file for the termination message; null: that of Kubernetes, where there is one. */
  readonly terminationLog: string | null;
  /** Tells people what happens. */
  readonly say: (text: string) => void;
  /** Tells people what they must know, also when they want it quiet. */
  readonly shout: (text: string) => void;
}

/**
 * What is written down about a run: the ledger, the termination message, and lines for people. It never throws: that something could not be
 * recorded is told, and training goes on.
 */
export class Book {
  readonly node: string;
  readonly #options: BookOptions;
  readonly #message: string | null;
  #ledger: LedgerWriter | null = null;
  #attempt: number | null = null;
  #isEnded = false;
  #listener: (event: LedgerEvent) => void = () => {};
  #held: string[] = [];
  #left: TerminationMessage | null = null;

  constructor(options: BookOptions) {
    this.node = options.node;
    this.#options = options;
    this.#message = options.terminationLog ?? (existsSync(KUBERNETES_LOG) ? KUBERNETES_LOG : null);
  }

  /** Turns to a new page: the ledger of an attempt. */
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

  /** What earlier attempts teach this one; nothing when they cannot be read. */
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

  /** Tells of every event that is recorded from now on. */
  listen(onRecord: (event: LedgerEvent) => void): void {
    this.#listener = onRecord;
  }

  /** The attempt whose page is open; null before the first. */
  get attempt(): number | null {
    return this.#attempt;
  }

  /** True while nobody has written down how that attempt ended. */
  get isAttemptOpen(): boolean {
    return this.#attempt !== null && !this.#isEnded;
  }

  /** A line for people, on standard error alone. */
  say(text: string): void {
    this.#sayHeld();
    this.#options.say(printable(text));
  }

  /** The same, before the next line, and at the latest when there is nothing else to do: whoever reads along may keep us waiting. */
  sayLater(text: string): void {
    this.#held.push(text);
    setImmediate(() => this.#sayHeld());
  }

  #sayHeld(): void {
    for (const text of this.#held.splice(0)) this.#options.say(printable(text));
  }

  /** A line for people, also when they want it quiet; whoever says it writes it down in its own way. */
  shout(text: string): void {
    this.#sayHeld();
    this.#options.shout(printable(text));
  }

  /** Something a person should know, also later. */
  warn(text: string): void {
    this.shout(`warning: ${text}`);
    this.record({ kind: 'note', level: 'warning', code: null, sentence: text });
  }

  /** An error of ours that training does not end for. */
  complain(thrown: unknown): void {
    const error = toError(thrown);
    const code = error instanceof HoldfastError ? error.code : 'INTERNAL';
    this.shout(`error ${code}: ${error.message}`);
    this.record({ kind: 'note', level: 'error', code, sentence: error.message });
  }

  /** The words that were left last. */
  get left(): TerminationMessage | null {
    return this.#left;
  }

  /** Leaves the last words; the file is a mount and can only be written in place. */
  leave(message: TerminationMessage): void {
    this.#left = message;
    if (this.#message === null) return;
    try {
      writeFileSync(this.#message, renderTerminationMessage(message));
    } catch (thrown) {
      this.warn(`the termination message cannot be written to ${this.#message}: ${systemCode(thrown) ?? String(thrown)}`);
    }
  }

  /** Turns the page; false when the disk has not answered in time. */
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
