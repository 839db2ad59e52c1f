import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { RawRow } from '../../rows.ts';
import { databaseError } from './database-error.ts';
import { APPLICATION_ID, MIGRATIONS } from './migrations.ts';
import { STATEMENTS, type StatementName } from './statements.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';

/** One open database file, with its prepared statements. */
export class QueueDatabase {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Opens or creates the file, and locks it. The lock ends with the process. */
  constructor(path: string) {
    this.#path = path;
    try {
      this.#database = new DatabaseSync(path, { timeout: 0 });
      this.#open();
    } catch (thrown) {
      throw databaseError(thrown, path);
    }
  }

  all(name: StatementName, ...values: readonly SQLInputValue[]): RawRow[] {
    return this.#run(name, (statement) => statement.all(...values) as RawRow[]);
  }

  get(name: StatementName, ...values: readonly SQLInputValue[]): RawRow | undefined {
    return this.#run(name, (statement) => statement.get(...values) as RawRow | undefined);
  }

  run(name: StatementName, ...values: readonly SQLInputValue[]): void {
    this.#run(name, (statement) => statement.run(...values));
  }

  exec(sql: 'BEGIN IMMEDIATE' | 'COMMIT' | 'ROLLBACK'): void {
    this.#use(sql, (statement) => statement.run());
  }

  /** Rolls back the open transaction; after a full disk SQLite has usually done so already. */
  rollBack(): void {
    if (this.#database.isTransaction) this.exec('ROLLBACK');
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #run<T>(name: StatementName, use: (statement: StatementSync) => T): T {
    return this.#use(STATEMENTS[name], use);
  }

  #use<T>(sql: string, use: (statement: StatementSync) => T): T {
    try {
      let statement = this.#statements.get(sql);
      if (statement === undefined) {
        statement = this.#database.prepare(sql);
        this.#statements.set(sql, statement);
      }
      return use(statement);
    } catch (thrown) {
      throw databaseError(thrown, this.#path);
    }
  }

  #open(): void {
    const database = this.#database;
    // Exclusive: one server owns the file, so the log needs no shared memory.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.exec('BEGIN IMMEDIATE; COMMIT');
    const application = this.#number('application_id');
    const version = this.#number('user_version');
    const isEmpty = this.#number('schema_version') === 0;
    if (!isEmpty && application !== APPLICATION_ID) {
      throw new HoldfastError('QUEUE_DATABASE_FOREIGN', {
        message: `${printable(this.#path)} is a database of another program`,
        hint: 'Give --db the name of a file that does not exist yet.',
      });
    }
    if (version > MIGRATIONS.length) {
      throw new HoldfastError('QUEUE_DATABASE_VERSION', {
        message: `${printable(this.#path)} has version ${version}; this Holdfast knows versions up to ${MIGRATIONS.length}`,
        hint: 'Use the Holdfast that wrote it, or a newer one.',
      });
    }
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = FULL');
    database.exec('PRAGMA cache_size = -32768');
    // 16 MiB of log: a page that many turns change is written back once for all of them.
    database.exec('PRAGMA wal_autocheckpoint = 4096');
    database.exec('PRAGMA journal_size_limit = 67108864');
    for (let step = version; step < MIGRATIONS.length; step++) {
      database.exec(
        `BEGIN IMMEDIATE; ${MIGRATIONS[step] ?? ''}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${step + 1}; COMMIT`,
      );
    }
  }

  #number(pragma: string): number {
    return Number(Object.values(this.#database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0] ?? 0);
  }
}
