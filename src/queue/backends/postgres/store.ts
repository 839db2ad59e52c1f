import pg from 'pg';
import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import { readRegularFile, whyUnreadable } from '../../../core/read-regular.ts';
import { ITEM_STATES } from '../../../domain/queue/item-state.ts';
import type { Page } from '../../backend.ts';
import {
  type RawRow,
  toHistoryEntry,
  toItemRow,
  toQueueRow,
  toRefusedResult,
  toStoredResult,
  toStory,
  toTallied,
  toWorkerLeases,
} from '../../rows.ts';
import type { OrdinaryAnswer, OrdinaryTurns, QueueStore, StoreTransaction } from '../../store.ts';
import { databaseError, isConflict, isNotOrdinary } from './database-error.ts';
import { MIGRATIONS, SCHEMA } from './migrations.ts';
import { statement, type StatementName } from './statements.ts';
import { Conversation } from './conversation.ts';
import { turnAnswer, turnValues } from './ordinary-turns.ts';
import { postgresRows } from './transaction.ts';

const CONNECTIONS = 6;
const CONNECT_MS = 10_000;
/** A stuck database server must not keep workers waiting for ever. */
const STATEMENT_MS = 60_000;
/** A server that is stopped inside a transaction must not keep its locks from the others. */
const IDLE_MS = 10_000;
const MOST_CONFLICTS = 20;
const MOST_CERTIFICATE_BYTES = 2 ** 20;
/** The number of servers that can count without waiting for each other. */
const SLOTS = 16;
/** The advisory lock of migrations: "Hfq". */
const MIGRATION_LOCK = 0x486671;

/** Opens the database at the address, and migrates it to the present form. */
export async function openPostgres(address: string): Promise<QueueStore> {
  const place = withoutPassword(address);
  assertCertificates(address);
  const pool = new pg.Pool({
    connectionString: address,
    max: CONNECTIONS,
    // Statements do not wait for the answers of the ones before them.
    pipeline: true,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_MS,
    application_name: 'holdfast queue',
    // An acknowledged commit must be on the disk, whatever the database’s default is.
    options: `-c search_path=${SCHEMA} -c synchronous_commit=on`,
  });
  // A connection that breaks while idle is replaced at the next use.
  pool.on('error', () => {});
  const store = new PostgresStore(pool, place);
  try {
    await store.migrate();
  } catch (thrown) {
    await pool.end();
    throw databaseError(thrown, place);
  }
  return store;
}

class PostgresStore implements QueueStore {
  readonly place: string;
  readonly sharedNow = async (): Promise<number> => Number((await this.#read('sharedNow'))[0]?.['now']);
  readonly #pool: pg.Pool;
  #slot = 0;

  constructor(pool: pg.Pool, place: string) {
    this.#pool = pool;
    this.place = place;
  }

  async transaction<T>(work: (rows: StoreTransaction) => Promise<T>): Promise<T> {
    for (let tried = 1; ; tried++) {
      try {
        return await this.#once(work);
      } catch (thrown) {
        if (tried >= MOST_CONFLICTS || !isConflict(thrown)) throw databaseError(thrown, this.place);
      }
    }
  }

  async ordinaryTurns(turns: OrdinaryTurns): Promise<OrdinaryAnswer | null> {
    try {
      return turnAnswer(turns, await run(this.#pool, 'takeTurns', turnValues(turns, this.#slot)));
    } catch (thrown) {
      if (isNotOrdinary(thrown) || isConflict(thrown)) return null;
      throw databaseError(thrown, this.place);
    }
  }

  async findQueue(name: string) {
    const [row] = await this.#read('findQueue', name);
    return row === undefined ? null : toQueueRow(row);
  }

  async queueNames() {
    return (await this.#read('queueNames')).map((row) => String(row['name']));
  }

  async counts(queue: number) {
    return new Map((await this.#read('counts', queue)).map((row) => [String(row['name']), Number(row['n'])]));
  }

  async tallied(queue: number, since: number) {
    return toTallied((await this.#read('tallied', queue, since))[0]);
  }

  async workers(queue: number) {
    return (await this.#read('workers', queue)).map(toWorkerLeases);
  }

  async sessionsIn(pod: string) {
    return (await this.#read('sessionsIn', pod)).map((row) => String(row['id']));
  }

  async results(queue: number, { after, generation, limit }: Page & { readonly generation: number | null }) {
    return (await this.#read('resultPage', queue, after, generation, limit)).map(toStoredResult);
  }

  async failed(queue: number, { after, limit }: Page) {
    return (await this.#read('failedPage', queue, after, limit)).map((row) => {
      const { id, key, state, tries, deaths } = toItemRow(row);
      return { item: id, key, state: state === ITEM_STATES.failed ? ('failed' as const) : ('aside' as const), tries, deaths };
    });
  }

  async history(item: number, limit: number) {
    return (await this.#read('historyOf', item, limit)).map(toHistoryEntry);
  }

  async story(queue: number, key: string) {
    const [row] = await this.#read('story', queue, key);
    if (row === undefined) return null;
    const [results, refused] = await Promise.all([this.#read('resultsOf', row['id']), this.#read('refusedOf', row['id'])]);
    return toStory(row, String(row['value']), { results: results.map(toStoredResult), refused: refused.map(toRefusedResult) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }

  /** Applies the missing migrations; servers that start together apply them once. */
  async migrate(): Promise<void> {
    const client = await this.#pool.connect();
    try {
      this.#slot = Number((await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid) % SLOTS;
      await client.query('BEGIN');
      await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
      await client.query('CREATE TABLE IF NOT EXISTS form (version INTEGER NOT NULL)');
      const version = Number((await client.query('SELECT COALESCE(MAX(version), 0) AS version FROM form')).rows[0].version);
      if (version > MIGRATIONS.length) {
        throw new HoldfastError('QUEUE_DATABASE_VERSION', {
          message: `${this.place} has version ${version}; this Holdfast knows versions up to ${MIGRATIONS.length}`,
          hint: 'Use the Holdfast that wrote it, or a newer one.',
        });
      }
      for (let step = version; step < MIGRATIONS.length; step++) {
        await client.query(MIGRATIONS[step] ?? '');
        await client.query('INSERT INTO form (version) VALUES ($1)', [step + 1]);
      }
      await client.query('COMMIT');
    } catch (thrown) {
      await client.query('ROLLBACK').catch(() => {});
      throw thrown;
    } finally {
      client.release();
    }
  }

  async #once<T>(work: (rows: StoreTransaction) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let isBroken = false;
    const breaks = (): void => void (isBroken = true);
    client.on('error', breaks);
    const conversation = new Conversation((text) => (typeof text === 'string' ? client.query(text) : client.query<RawRow>(text)));
    try {
      const result = await work(postgresRows(conversation, this.#slot));
      await conversation.commit();
      return result;
    } catch (thrown) {
      await client.query('ROLLBACK').catch(breaks);
      throw conversation.failure ?? thrown;
    } finally {
      client.off('error', breaks);
      client.release(isBroken);
    }
  }

  async #read(name: StatementName, ...values: readonly unknown[]): Promise<readonly RawRow[]> {
    try {
      return await run(this.#pool, name, values);
    } catch (thrown) {
      throw databaseError(thrown, this.place);
    }
  }
}

async function run(client: Pick<pg.Pool, 'query'>, name: StatementName, values: readonly unknown[]): Promise<readonly RawRow[]> {
  const { rows } = await client.query<RawRow>(statement(name, values));
  return rows;
}

/** The driver opens these files while it connects, and would wait for a pipe for ever. */
function assertCertificates(address: string): void {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const file = URL.parse(address)?.searchParams.get(name);
    if (file == null || file === '') continue;
    try {
      readRegularFile(file, MOST_CERTIFICATE_BYTES);
    } catch (thrown) {
      const message = `${name} of option --db: ${printable(file)} cannot be read: ${whyUnreadable(thrown)}`;
      throw new HoldfastError('PATH_NOT_READABLE', { message, cause: thrown });
    }
  }
}

/** The address without its password. */
function withoutPassword(address: string): string {
  const url = URL.parse(address);
  if (url === null) throw new HoldfastError('USAGE', { message: 'option --db: the address of the database is not understood' });
  return `postgres://${url.username === '' ? '' : `${url.username}@`}${url.host}${url.pathname}`;
}
