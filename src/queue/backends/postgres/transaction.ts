import type { RawRow } from '../../rows.ts';
import { toItemRow, toQueueRow, toResultRow, toSessionRow, toWaitingRow } from '../../rows.ts';
import type { ItemRow, StoreTransaction } from '../../store.ts';
import type { Conversation } from './conversation.ts';
import type { StatementName } from './statements.ts';

/**
 * The rows of a PostgreSQL database inside one transaction. This server counts in the row `slot`.
 */
export function postgresRows(conversation: Conversation, slot: number): StoreTransaction {
  const query = conversation.read.bind(conversation);
  const change = conversation.change.bind(conversation);
  const first = async (name: StatementName, ...values: readonly unknown[]): Promise<RawRow | null> =>
    (await query(name, values))[0] ?? null;
  const items = async (name: StatementName, ...values: readonly unknown[]): Promise<ItemRow[]> =>
    (await query(name, values)).map(toItemRow);
  const run = (name: StatementName, ...values: readonly unknown[]): Promise<void> => conversation.write(name, values);
  return {
    async queue(name) {
      const row = await first('findQueue', name);
      return row === null ? null : toQueueRow(row);
    },
    queueNames: async (ids) => (await query('queueNamesOf', [ids])).map((row) => String(row['name'])),
    addQueue: async (name, now) => toQueueRow((await change('addQueue', [name, now]))[0] ?? {}),
    renameQueue: (id, name) => run('renameQueue', id, name),
    pauseQueue: (id, isPaused) => run('pauseQueue', id, isPaused),
    async insertItems(queue, added) {
      const values = [queue, added.map(({ key }) => key), added.map(({ value }) => value), added.map(({ priority }) => -priority)];
      return (await change('insertItems', values)).map((row) => String(row['key']));
    },
    valuesByKey: async (queue, keys) =>
      new Map((await query('valuesByKey', [queue, keys])).map((row) => [String(row['key']), String(row['value'])])),
    valuesById: async (ids) => new Map((await query('valuesById', [ids])).map((row) => [Number(row['item']), String(row['value'])])),
    items: (ids) => items('items', ids),
    async itemByKey(queue, key) {
      const row = await first('itemByKey', queue, key);
      return row === null ? null : toItemRow(row);
    },
    head: async (queue, limit) => (await query('head', [queue, limit])).map(toWaitingRow),
    dueItems: (now, limit) => items('dueItems', now, limit),
    leasedBy: (session) => items('leasedBy', session),
    itemsInStates: (queue, states, { after, limit }) => items('itemsInStates', queue, after, states, limit),
    updateItems: (rows) =>
      run(
        'updateItems',
        ...columns(
          rows,
          'id',
          'state',
          'generation',
          'token',
          'isOpen',
          'tries',
          'deaths',
          'isAlone',
          'dueAt',
          'leasedAt',
          'session',
          'together',
          'progress',
        ),
      ),
    results: async (keys) => (await query('results', columns(keys, 'item', 'generation'))).map(toResultRow),
    insertResults: (rows) =>
      run(
        'insertResults',
        ...columns(rows, 'queue', 'item', 'generation', 'token', 'result', 'session', 'node', 'leasedAt', 'committedAt'),
      ),
    insertHistory: (rows) =>
      run(
        'insertHistory',
        ...columns(
          rows,
          'item',
          'token',
          'generation',
          'end',
          'leasedAt',
          'endedAt',
          'session',
          'node',
          'process',
          'together',
          'isDeath',
          'detail',
        ),
      ),
    async insertRefused(rows) {
      await run('insertRefused', ...columns(rows, 'item', 'generation', 'token', 'result', 'session', 'at'));
      for (const item of new Set(rows.map((row) => row.item))) await run('trimRefused', item);
    },
    deathsOf: async (item) =>
      (await query('deathsOf', [item])).map((row) => ({ node: String(row['node']), process: String(row['process']) })),
    forgetDeaths: (ids) => run('forgetDeaths', ids),
    forgiveDeaths: async (session, detail) => (await change('forgiveDeaths', [session, detail])).map((row) => Number(row['item'])),
    liveNodes: async (since) => Number((await first('liveNodes', since))?.['n'] ?? 0),
    async session(id) {
      const row = await first('session', id);
      return row === null ? null : toSessionRow(row);
    },
    putSession: ({ id, node, process, connection, notice }, now) => run('putSession', id, node, process, connection, notice, now),
    extendLeases: (ids, dueAt) => run('extendLeases', ids, dueAt),
    seeSessions: (sessions, now) => run('seeSessions', sessions, now),
    count: (deltas) => run('count', ...columns(deltas, 'queue', 'name', 'by'), slot),
    openItems: async (queue) => Number((await first('openItems', queue))?.['n'] ?? 0),
    tally: (queue, period, done) => run('tally', queue, period, slot, done),
    async lastLook() {
      const at = (await first('lastLook'))?.['at'] ?? null;
      return at === null ? null : Number(at);
    },
    setLastLook: (now) => run('setLastLook', now),
    hasLeases: async () => Boolean((await first('hasLeases'))?.['n']),
    shiftLeases: (addMs, latest) => run('shiftLeases', addMs, latest),
    async tidy(talliesBefore, sessionsBefore) {
      await run('dropTallies', talliesBefore);
      await run('dropSessions', sessionsBefore);
    },
    async deleteDropped(prefix, limit) {
      const queue = await first('droppedQueue', `${prefix}%`);
      if (queue === null) return;
      const [gone] = await change('deleteItems', [queue['id'], limit]);
      if (Number(gone?.['n'] ?? 0) < limit) await run('deleteQueue', queue['id']);
    },
  };
}

/** Rows as one list per column, the input of `unnest`. */
function columns<T>(rows: readonly T[], ...names: readonly (keyof T)[]): unknown[][] {
  return names.map((name) => rows.map((row) => row[name]));
}
