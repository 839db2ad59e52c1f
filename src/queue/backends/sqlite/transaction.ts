import type { UnexplainedDeath } from '../../../domain/queue/poison.ts';
import type { StateCode } from '../../../domain/queue/item-state.ts';
import type { NewItem, Page } from '../../backend.ts';
import { type RawRow, toItemRow, toQueueRow, toResultRow, toSessionRow, toWaitingRow } from '../../rows.ts';
import type { CountDelta, HistoryRow, ItemRow, QueueRow, RefusedRow, ResultRow, SessionRow, StoreTransaction } from '../../store.ts';
import type { QueueDatabase } from './database.ts';

const flag = (value: boolean): number => (value ? 1 : 0);

/** The rows of a SQLite file. Its owner runs one transaction at a time, so no locks are needed. */
export function sqliteRows(database: QueueDatabase): StoreTransaction {
  const items = (rows: readonly RawRow[]): ItemRow[] => rows.map(toItemRow);
  return {
    async queue(name) {
      const row = database.get('findQueue', name);
      return row === undefined ? null : toQueueRow(row);
    },
    async queueNames(ids) {
      return ids.map((id) => String(database.get('queueName', id)?.['name'] ?? ''));
    },
    async addQueue(name, now): Promise<QueueRow> {
      return toQueueRow(database.get('addQueue', name, now) ?? {});
    },
    async renameQueue(id, name) {
      database.run('renameQueue', name, id);
    },
    async pauseQueue(id, isPaused) {
      database.run('pauseQueue', flag(isPaused), id);
    },
    async insertItems(queue, added: readonly NewItem[]) {
      return added
        .filter(({ key, value, priority }) => {
          const row = database.get('insertItem', queue, key, -priority);
          if (row === undefined) return false;
          database.run('insertPayload', Number(row['id']), value);
          return true;
        })
        .map(({ key }) => key);
    },
    async valuesByKey(queue, keys) {
      return new Map(
        keys.flatMap((key) => {
          const row = database.get('valueByKey', queue, key);
          return row === undefined ? [] : [[key, String(row['value'])] as const];
        }),
      );
    },
    async valuesById(ids) {
      return new Map(ids.map((id) => [id, String(database.get('valueById', id)?.['value'] ?? 'null')]));
    },
    async items(ids) {
      return items(ids.map((id) => database.get('item', id)).filter((row) => row !== undefined));
    },
    async itemByKey(queue, key) {
      const row = database.get('itemByKey', queue, key);
      return row === undefined ? null : toItemRow(row);
    },
    async head(queue, limit) {
      return database.all('head', queue, limit).map(toWaitingRow);
    },
    async dueItems(now, limit) {
      return items(database.all('dueItems', now, limit));
    },
    async leasedBy(session) {
      return items(database.all('leasedBy', session));
    },
    async itemsInStates(queue, states: readonly StateCode[], { after, limit }: Page) {
      return items(database.all('itemsInStates', queue, after, JSON.stringify(states), limit));
    },
    async updateItems(rows) {
      for (const row of rows) {
        const { state, generation, token, tries, deaths, dueAt, leasedAt, session, together, progress, id } = row;
        const [open, alone] = [flag(row.isOpen), flag(row.isAlone)];
        database.run('updateItem', state, generation, token, open, tries, deaths, alone, dueAt, leasedAt, session, together, progress, id);
      }
    },
    async results(keys) {
      const rows = keys.map(({ item, generation }) => database.get('result', item, generation));
      return rows.filter((row) => row !== undefined).map(toResultRow);
    },
    async insertResults(rows: readonly ResultRow[]) {
      for (const { queue, item, generation, token, result, session, node, leasedAt, committedAt } of rows) {
        database.run('insertResult', queue, item, generation, token, result, session, node, leasedAt, committedAt);
      }
    },
    async insertHistory(rows: readonly HistoryRow[]) {
      for (const row of rows) {
        const { item, token, generation, end, leasedAt, endedAt, session, node, process, together, detail } = row;
        database.run(
          'insertHistory',
          item,
          token,
          generation,
          end,
          leasedAt,
          endedAt,
          session,
          node,
          process,
          together,
          flag(row.isDeath),
          detail,
        );
      }
    },
    async insertRefused(rows: readonly RefusedRow[]) {
      for (const { item, generation, token, result, session, at } of rows) {
        database.run('insertRefused', item, generation, token, result, session, at);
        database.run('trimRefused', item);
      }
    },
    async deathsOf(item): Promise<UnexplainedDeath[]> {
      return database.all('deathsOf', item).map((row) => ({ node: String(row['node']), process: String(row['process']) }));
    },
    async forgetDeaths(ids) {
      for (const id of ids) database.run('forgetDeaths', id);
    },
    async forgiveDeaths(session, detail) {
      return database.all('forgiveDeaths', session, detail).map((row) => Number(row['item']));
    },
    async liveNodes(since) {
      return Number(database.get('liveNodes', since)?.['n'] ?? 0);
    },
    async session(id) {
      const row = database.get('session', id);
      return row === undefined ? null : toSessionRow(row);
    },
    async putSession({ id, node, process, connection, notice }: SessionRow, now) {
      database.run('putSession', id, node, process, connection, notice, now);
    },
    async extendLeases(ids, dueAt) {
      for (const id of ids) database.run('extendLease', id, dueAt);
    },
    async seeSessions(sessions, now) {
      for (const id of sessions) database.run('seeSession', id, now);
    },
    async count(deltas: readonly CountDelta[]) {
      for (const { queue, name, by } of deltas) database.run('count', queue, name, by);
    },
    async openItems(queue) {
      return Number(database.get('openItems', queue)?.['n'] ?? 0);
    },
    async tally(queue, period, done) {
      database.run('tally', queue, period, done);
    },
    async lastLook() {
      const row = database.get('lastLook');
      const at = row?.['at'] ?? null;
      return at === null ? null : Number(at);
    },
    async setLastLook(now) {
      database.run('setLastLook', now);
    },
    async hasLeases() {
      return Number(database.get('hasLeases')?.['n'] ?? 0) !== 0;
    },
    async shiftLeases(addMs, latest) {
      database.run('shiftLeases', addMs, latest);
    },
    async tidy(talliesBefore, sessionsBefore) {
      database.run('dropTallies', talliesBefore);
      database.run('dropSessions', sessionsBefore);
    },
    async deleteDropped(prefix, limit) {
      deleteDropped(database, prefix, limit);
    },
  };
}

function deleteDropped(database: QueueDatabase, prefix: string, limit: number): void {
  const queue = database.get('droppedQueue', `${prefix}%`);
  if (queue === undefined) return;
  const id = Number(queue['id']);
  const items = database.all('itemsOf', id, limit).map((row) => Number(row['id']));
  for (const item of items) {
    for (const name of ['deletePayload', 'deleteResults', 'deleteHistory', 'deleteRefused', 'deleteItem'] as const)
      database.run(name, item);
  }
  if (items.length === limit) return;
  for (const name of ['deleteCounts', 'deleteTallies', 'deleteQueue'] as const) database.run(name, id);
}
