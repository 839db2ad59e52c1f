import { takeHead } from '../../../domain/queue/take-head.ts';
import type { Lease } from '../../backend.ts';
import { type RawRow, toLease } from '../../rows.ts';
import type { OrdinaryAnswer, OrdinaryTurns } from '../../store.ts';
import type { QueueDatabase } from './database.ts';

/**
 * Takes ordinary turns in one transaction with few statements. Null: a commit has no lease, or a
 * waiting item needs a rule of its own, and nothing changed.
 */
export function takeOrdinaryTurns(database: QueueDatabase, turns: OrdinaryTurns): OrdinaryAnswer | null {
  database.exec('BEGIN IMMEDIATE');
  try {
    const answer = take(database, turns);
    if (answer === null) database.rollBack();
    else database.exec('COMMIT');
    return answer;
  } catch (thrown) {
    database.rollBack();
    throw thrown;
  }
}

function take(database: QueueDatabase, turns: OrdinaryTurns): OrdinaryAnswer | null {
  const found = database.get('findQueue', turns.queue);
  if (found === undefined) return null;
  const queue = Number(found['id']);
  const isPaused = Boolean(found['paused']);
  if (!commitAll(database, queue, turns)) return null;
  const leases = isPaused ? turns.wants.map(() => []) : leaseAll(database, queue, turns);
  if (leases === null) return null;
  const [written, leased] = [turns.commits.length, leases.reduce((sum, own) => sum + own.length, 0)];
  const counts = { done: written, leased: leased - written, ready: -leased };
  for (const [name, by] of Object.entries(counts)) if (by !== 0) database.run('count', queue, name, by);
  const isServed = leased === turns.wants.reduce((sum, { most }) => sum + most, 0);
  return { leases, isPaused, openItems: isServed ? null : Number(database.get('openItems', queue)?.['n'] ?? 0) };
}

function commitAll(database: QueueDatabase, queue: number, { commits, now }: OrdinaryTurns): boolean {
  return commits.every(({ item, token, generation, result, session, node }) => {
    const ended = database.get('endLease', item, token, generation, queue);
    if (ended === undefined) return false;
    database.run('insertResult', queue, item, generation, token, result, session, node, Number(ended['leased_at']), now);
    return true;
  });
}

function leaseAll(database: QueueDatabase, queue: number, turns: OrdinaryTurns): Lease[][] | null {
  const wanted = turns.wants.reduce((sum, { most }) => sum + most, 0);
  const head = wanted === 0 ? [] : database.all('ordinaryHead', queue, wanted);
  const leases: Lease[][] = [];
  const leaseOne = (row: RawRow, session: string, together: number): Lease => {
    const id = Number(row['id']);
    database.run('takeLease', session, together, turns.now, turns.dueAt, id);
    const { token, ...lease } = toLease(row, String(database.get('valueById', id)?.['value'] ?? 'null'));
    return { ...lease, token: token + 1 };
  };
  let from = 0;
  for (const { session, most } of turns.wants) {
    const own = head.slice(from, from + most);
    const waiting = own.map((row) => ({ isAlone: Boolean(row['alone']), length: Number(row['length']) }));
    if (takeHead(waiting, turns.room) < own.length) return null;
    leases.push(own.map((row) => leaseOne(row, session, own.length)));
    from += own.length;
  }
  return leases;
}
