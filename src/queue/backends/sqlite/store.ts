import type { Page } from '../../backend.ts';
import { toHistoryEntry, toItemRow, toRefusedResult, toStoredResult, toStory, toTallied, toWorkerLeases } from '../../rows.ts';
import type { QueueStore, StoreTransaction } from '../../store.ts';
import { ITEM_STATES } from '../../../domain/queue/item-state.ts';
import { QueueDatabase } from './database.ts';
import { takeOrdinaryTurns } from './ordinary-turns.ts';
import { sqliteRows } from './transaction.ts';

/** Keeps queues in one SQLite file: WAL, with a sync before every acknowledgement. */
export function openSqlite(path: string): QueueStore {
  const database = new QueueDatabase(path);
  const rows = sqliteRows(database);
  let last: Promise<unknown> = Promise.resolve();
  /**
   * One transaction runs at a time. Reads run between transactions, so they see only committed
   * data.
   */
  const inTurn = <T>(work: () => Promise<T> | T): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
  return {
    place: path,
    sharedNow: null,
    transaction: (work) => inTurn(() => transact(database, rows, work)),
    ordinaryTurns: (turns) => inTurn(() => takeOrdinaryTurns(database, turns)),
    findQueue: (name) => inTurn(() => rows.queue(name)),
    queueNames: () => inTurn(() => database.all('queueNames').map((row) => String(row['name']))),
    counts: (queue) => inTurn(() => new Map(database.all('counts', queue).map((row) => [String(row['name']), Number(row['n'])]))),
    tallied: (queue, since) => inTurn(() => toTallied(database.get('tallied', queue, since))),
    workers: (queue) => inTurn(() => database.all('workers', queue).map(toWorkerLeases)),
    sessionsIn: (pod) => inTurn(() => database.all('sessionsIn', pod).map((row) => String(row['id']))),
    results: (queue, { after, generation, limit }: Page & { readonly generation: number | null }) =>
      inTurn(() => database.all('resultPage', queue, after, generation, limit).map(toStoredResult)),
    failed: (queue, { after, limit }) =>
      inTurn(() =>
        database.all('failedPage', queue, after, limit).map((row) => {
          const { id, key, state, tries, deaths } = toItemRow(row);
          return { item: id, key, state: state === ITEM_STATES.failed ? ('failed' as const) : ('aside' as const), tries, deaths };
        }),
      ),
    history: (item, limit) => inTurn(() => database.all('historyOf', item, limit).map(toHistoryEntry)),
    story: (queue, key) =>
      inTurn(() => {
        const row = database.get('itemByKey', queue, key);
        if (row === undefined) return null;
        const id = Number(row['id']);
        const value = String(database.get('valueById', id)?.['value'] ?? 'null');
        return toStory(row, value, {
          results: database.all('resultsOf', id).map(toStoredResult),
          refused: database.all('refusedOf', id).map(toRefusedResult),
        });
      }),
    async [Symbol.asyncDispose]() {
      await inTurn(() => database.close());
    },
  };
}

async function transact<T>(database: QueueDatabase, rows: StoreTransaction, work: (rows: StoreTransaction) => Promise<T>): Promise<T> {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = await work(rows);
    database.exec('COMMIT');
    return result;
  } catch (thrown) {
    database.rollBack();
    throw thrown;
  }
}
