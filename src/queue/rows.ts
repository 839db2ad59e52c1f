import { stateName, type StateCode } from '../domain/queue/item-state.ts';
import type { HistoryEntry, ItemStory, Lease, LeaseEnd, RefusedResult, StoredResult, WorkerLeases } from './backend.ts';
import type { ItemRow, QueueRow, ResultRow, SessionRow, Tallied, WaitingRow } from './store.ts';

/**
 * A row from a driver, by column name. Both databases use the same names. Flags are 0 and 1, or
 * booleans.
 */
export type RawRow = Readonly<Record<string, string | number | boolean | null>>;

const text = (value: RawRow[string] | undefined): string => String(value ?? '');
const textOrNull = (value: RawRow[string] | undefined): string | null => (value === null || value === undefined ? null : String(value));

/** Reads a row of the table of queues. */
export function toQueueRow(row: RawRow): QueueRow {
  return { id: Number(row['id']), name: text(row['name']), isPaused: Boolean(row['paused']) };
}

/** Reads a row of the table of items. */
export function toItemRow(row: RawRow): ItemRow {
  return {
    id: Number(row['id']),
    queue: Number(row['queue']),
    key: text(row['key']),
    state: Number(row['state']) as StateCode,
    generation: Number(row['generation']),
    token: Number(row['token']),
    isOpen: Boolean(row['open']),
    tries: Number(row['tries']),
    deaths: Number(row['deaths']),
    isAlone: Boolean(row['alone']),
    dueAt: Number(row['due_at']),
    leasedAt: Number(row['leased_at']),
    session: text(row['session']),
    together: Number(row['together']),
    progress: textOrNull(row['progress']),
  };
}

/** Reads a ready item with the bytes of its value. */
export function toWaitingRow(row: RawRow): WaitingRow {
  return { ...toItemRow(row), length: Number(row['length']) };
}

/** Reads a leased item with its value. */
export function toLease(row: RawRow, value: string): Lease {
  return {
    item: Number(row['id']),
    key: text(row['key']),
    value,
    token: Number(row['token']),
    generation: Number(row['generation']),
    progress: textOrNull(row['progress']),
    tries: Number(row['tries']),
  };
}

/** Reads a row of the table of results. */
export function toResultRow(row: RawRow): ResultRow {
  return {
    queue: Number(row['queue']),
    item: Number(row['item']),
    generation: Number(row['generation']),
    token: Number(row['token']),
    result: text(row['result']),
    session: text(row['session']),
    node: text(row['node']),
    leasedAt: Number(row['leased_at']),
    committedAt: Number(row['committed_at']),
  };
}

/** Reads a result for the results command. */
export function toStoredResult(row: RawRow): StoredResult {
  const { item, generation, token, result, committedAt, node } = toResultRow(row);
  return { item, key: text(row['key']), generation, token, result, committedAt, node };
}

/** Reads a row of the history of leases. */
export function toHistoryEntry(row: RawRow): HistoryEntry {
  return {
    token: Number(row['token']),
    generation: Number(row['generation']),
    end: text(row['end']) as LeaseEnd,
    leasedAt: Number(row['leased_at']),
    endedAt: Number(row['ended_at']),
    node: text(row['node']),
    process: text(row['process']),
    together: Number(row['together']),
    isDeath: Boolean(row['death']),
    detail: textOrNull(row['detail']),
  };
}

/** Reads a row of the table of worker sessions. */
export function toSessionRow(row: RawRow): SessionRow {
  return {
    id: text(row['id']),
    node: text(row['node']),
    process: text(row['process']),
    connection: Number(row['connection']),
    notice: textOrNull(row['notice']),
  };
}

/** Reads the leases of one worker. */
export function toWorkerLeases(row: RawRow): WorkerLeases {
  return {
    session: text(row['session']),
    node: text(row['node']),
    process: text(row['process']),
    leases: Number(row['leases']),
    since: Number(row['since']),
  };
}

/** What was done in a span of time. */
export function toTallied(row: RawRow | undefined): Tallied {
  const first = row?.['first'] ?? null;
  return { done: Number(row?.['done'] ?? 0), first: first === null ? null : Number(first) };
}

/** Reads a refused result with its worker. */
export function toRefusedResult(row: RawRow): RefusedResult {
  return {
    generation: Number(row['generation']),
    token: Number(row['token']),
    result: text(row['result']),
    refusedAt: Number(row['at']),
    node: text(row['node']),
    process: text(row['process']),
  };
}

/** An item with its value and results, as people ask for it. */
export function toStory(
  row: RawRow,
  value: string,
  { results, refused }: Pick<ItemStory, 'results' | 'refused'>,
): Omit<ItemStory, 'history'> {
  const { id, key, state, generation, token, tries, deaths, progress } = toItemRow(row);
  return { item: id, key, value, state: stateName(state), generation, token, tries, deaths, progress, results, refused };
}
