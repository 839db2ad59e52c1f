import type { Rng } from '../core/rng.ts';
import type { Lease, QueueRules, Turn, TurnAnswer } from './backend.ts';
import { ChangeLedger } from './ledger.ts';
import type { ItemRow, QueueRow, StoreTransaction, WaitingRow } from './store.ts';
import { resultKey, takeTurn, type TakenTurn } from './take-turn.ts';
import { unknownQueue } from './unknown-queue.ts';

/**
 * The bytes of values that all answers of a transaction may hold, beyond one item for each: large
 * items in large batches must not fill the memory of the server or of a worker.
 */
const MOST_BYTES = 32 * 2 ** 20;

/** The bytes of values that the answer to each of these turns may hold. */
export function roomOf(turns: readonly Turn[]): number {
  return Math.floor(MOST_BYTES / turns.length);
}

/** The shared state of all turns of a transaction. */
export interface TurnsContext {
  readonly rules: QueueRules;
  readonly rng: Rng;
  readonly now: number;
}

/**
 * Takes the turns of several workers in one transaction, so that a disk syncs once for all of them.
 * Reads go out together, and so do writes: a database on another machine answers twice, not ten
 * times. The returned function gives the answers once the transaction is durable; what it reads is
 * asked for before.
 */
export async function takeTurns(
  rows: StoreTransaction,
  turns: readonly Turn[],
  context: TurnsContext,
): Promise<() => Promise<TurnAnswer[]>> {
  const ledger = new ChangeLedger();
  const [finding, locking] = [findQueues(rows, turns), lockItems(rows, turns, context.now)];
  // An error of one waits for the other: no statement may run after a rollback.
  await Promise.allSettled([finding, locking]);
  const [queues, { notices, touched, waiting }] = [await finding, await locking];
  ledger.know(touched);
  const standing = await findStanding(rows, turns, ledger);
  const heads = new Map([...queues.values()].map(({ id, name }) => [id, (waiting.get(name) ?? []).filter(({ queue }) => queue === id)]));
  for (const head of heads.values()) ledger.know(head);
  const room = roomOf(turns);
  const taken = turns.map((turn) => {
    const queue = queues.get(turn.queue) as QueueRow;
    const notice = notices.get(turn.session.id) ?? null;
    return takeTurn({ ...context, ledger, queue, standing, notice, head: heads.get(queue.id) ?? [], room }, turn);
  });
  await ledger.write(rows);
  return answerLater({ rows, turns, queues }, taken);
}

async function findQueues(rows: StoreTransaction, turns: readonly Turn[]): Promise<Map<string, QueueRow>> {
  const names = [...new Set(turns.map(({ queue }) => queue))];
  const found = await Promise.all(names.map((name) => rows.queue(name)));
  return new Map(
    names.map((name, i) => {
      const queue = found[i] ?? null;
      if (queue === null) throw unknownQueue(name);
      return [name, queue];
    }),
  );
}

/** The rows that the turns change, locked. */
interface Locked {
  readonly notices: ReadonlyMap<string, string>;
  readonly touched: readonly ItemRow[];
  /** The head of each queue, by name. */
  readonly waiting: ReadonlyMap<string, readonly WaitingRow[]>;
}

/** Locks workers that end, then items that are handed in, then items to lease: in this order. */
async function lockItems(rows: StoreTransaction, turns: readonly Turn[], now: number): Promise<Locked> {
  const notices = await takeNotices(rows, turns, now);
  const ids = [...new Set(turns.flatMap(touchedItems))].sort((a, b) => a - b);
  const wanted = [...wantedItems(turns)];
  const [touched, ...heads] = await Promise.all([
    ids.length === 0 ? [] : rows.items(ids),
    ...wanted.map(([queue, count]) => rows.head(queue, count)),
  ]);
  return { notices, touched, waiting: new Map(wanted.map(([queue], i) => [queue, heads[i] ?? []])) };
}

/** How many items the turns ask for, by queue. */
function wantedItems(turns: readonly Turn[]): ReadonlyMap<string, number> {
  const wanted = new Map<string, number>();
  for (const { queue, lease } of turns) if (lease > 0) wanted.set(queue, (wanted.get(queue) ?? 0) + lease);
  return wanted;
}

/** Stores new notices and reads earlier ones, but only for workers that return leases. */
async function takeNotices(rows: StoreTransaction, turns: readonly Turn[], now: number): Promise<Map<string, string>> {
  const notices = new Map<string, string>();
  for (const { session, notice, releases } of turns) {
    if (notice === null && releases.length === 0) continue;
    const known = await rows.session(session.id);
    const stands = notice ?? known?.notice ?? null;
    if (notice !== null) await rows.putSession({ ...session, connection: known?.connection ?? 0, notice }, now);
    if (stands !== null) notices.set(session.id, stands);
  }
  return notices;
}

function touchedItems({ commits, fails, releases, progress }: Turn): number[] {
  return [...commits, ...fails, ...releases, ...progress].map(({ item }) => item);
}

/** Only items not leased with this token can have a result, so most commits need no lookup. */
async function findStanding(rows: StoreTransaction, turns: readonly Turn[], ledger: ChangeLedger): Promise<Map<string, string>> {
  const asked = turns.flatMap(({ commits }) =>
    commits.filter(({ item, token, generation }) => {
      const row = ledger.item(item);
      return row !== undefined && !(row.isOpen && row.token === token && row.generation === generation);
    }),
  );
  const found = asked.length === 0 ? [] : await rows.results(asked);
  return new Map(found.map((row) => [resultKey(row), row.result]));
}

interface Asked {
  readonly rows: StoreTransaction;
  readonly turns: readonly Turn[];
  readonly queues: ReadonlyMap<string, QueueRow>;
}

function answerLater({ rows, turns, queues }: Asked, taken: readonly TakenTurn[]): () => Promise<TurnAnswer[]> {
  const leased = taken.flatMap((one) => one.leased.map(({ id }) => id));
  const unserved = turns.filter(({ lease }, i) => lease > 0 && taken[i]?.leased.length === 0);
  const asked = [...new Set(unserved.map(({ queue }) => queues.get(queue)?.id ?? 0))];
  const reading = Promise.all([
    leased.length === 0 ? new Map<number, string>() : rows.valuesById(leased),
    ...asked.map((id) => rows.openItems(id)),
  ]);
  // Its error belongs to the answers, or the transaction has reported it already.
  reading.catch(() => {});
  return async () => {
    const [values, ...counts] = await reading;
    const open = new Map(asked.map((id, i) => [id, counts[i]]));
    return taken.map(({ commits, held, leased: items }, i) => {
      const queue = queues.get(turns[i]?.queue ?? '');
      return {
        commits,
        held,
        leases: items.map((row) => leaseOf(row, values)),
        isDrained: open.get(queue?.id ?? 0) === 0,
        isPaused: queue?.isPaused ?? false,
      };
    });
  };
}

function leaseOf({ id, key, token, generation, progress, tries }: ItemRow, values: ReadonlyMap<number, string>): Lease {
  return { item: id, key, value: values.get(id) ?? 'null', token, generation, progress, tries };
}
