import type { RawRow } from '../../rows.ts';
import { statement, type StatementName } from './statements.ts';

/** Sends a command or a statement on one connection, without a wait for earlier answers. */
type Send = (text: string | ReturnType<typeof statement>) => Promise<{ readonly command: string; readonly rows: readonly RawRow[] }>;

/**
 * One transaction over a connection that pipelines. The database answers in the order of the
 * statements, so a transaction waits only where it needs an answer: a write returns at once, and
 * its error surfaces at the next read or at the commit.
 */
export class Conversation {
  readonly #send: Send;
  readonly #begun: Promise<unknown>;
  readonly #writes: Promise<unknown>[] = [];
  /** The first error of the database; later statements only repeat that the transaction is over. */
  failure: unknown = null;

  constructor(send: Send) {
    this.#send = send;
    this.#begun = this.#watched(send('BEGIN'));
  }

  /** Reads or locks rows. It may be on its way before the transaction is known to have begun. */
  async read(name: StatementName, values: readonly unknown[]): Promise<readonly RawRow[]> {
    return (await this.#watched(this.#send(statement(name, values)))).rows;
  }

  /** Writes, and waits for the rows that the statement returns. */
  async change(name: StatementName, values: readonly unknown[]): Promise<readonly RawRow[]> {
    await this.#begun;
    return this.read(name, values);
  }

  /** Writes without a wait for the answer. Outside a transaction the write would stand alone. */
  async write(name: StatementName, values: readonly unknown[]): Promise<void> {
    await this.#begun;
    this.#writes.push(this.#watched(this.#send(statement(name, values))));
  }

  /** Resolves once everything is durable. A transaction with a failed write ends as a rollback. */
  async commit(): Promise<void> {
    const commit = this.#watched(this.#send('COMMIT'));
    await Promise.all([this.#begun, ...this.#writes]);
    const { command } = await commit;
    if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
  }

  #watched<T>(answer: Promise<T>): Promise<T> {
    answer.catch((error: unknown) => (this.failure ??= error));
    return answer;
  }
}
