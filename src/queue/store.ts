import type { StateCode } from '../domain/queue/item-state.ts';
import type { UnexplainedDeath } from '../domain/queue/poison.ts';
import type {
  Commit,
  FailedItem,
  HistoryEntry,
  ItemStory,
  Lease,
  LeaseEnd,
  NewItem,
  Page,
  Session,
  StoredResult,
  WorkerLeases,
} from './backend.ts';

/** A queue as stored. */
export interface QueueRow {
  readonly id: number;
  readonly name: string;
  readonly isPaused: boolean;
}

/** The changeable part of an item; key and value never change. */
export interface ItemRow {
  readonly id: number;
  readonly queue: number;
  readonly key: string;
  readonly state: StateCode;
  readonly generation: number;
  readonly token: number;
  /** Whether the newest token may still commit. */
  readonly isOpen: boolean;
  readonly tries: number;
  readonly deaths: number;
  readonly isAlone: boolean;
  /** The end of the lease or the back-off; 0 in other states. */
  readonly dueAt: number;
  readonly leasedAt: number;
  readonly session: string;
  /** The number of items leased together. */
  readonly together: number;
  readonly progress: string | null;
}

/** A ready item, with the bytes of its value. */
export interface WaitingRow extends ItemRow {
  readonly length: number;
}

/** A line of an item’s history as stored. */
export interface HistoryRow extends Omit<HistoryEntry, 'end'> {
  readonly item: number;
  readonly end: LeaseEnd;
  readonly session: string;
}

/** A result as stored. */
export interface ResultRow {
  readonly queue: number;
  readonly item: number;
  readonly generation: number;
  readonly token: number;
  readonly result: string;
  readonly session: string;
  readonly node: string;
  readonly leasedAt: number;
  readonly committedAt: number;
}

/** A refused commit whose bytes differ from the committed result. */
export interface RefusedRow {
  readonly item: number;
  readonly generation: number;
  readonly token: number;
  readonly result: string;
  readonly session: string;
  readonly at: number;
}

/** A worker’s session as stored. */
export interface SessionRow extends Session {
  readonly connection: number;
  /** The notice that explains the end of this worker, or null. */
  readonly notice: string | null;
}

/** Counters that every change updates, so that no query counts ten million items. */
export interface CountDelta {
  readonly queue: number;
  readonly name: string;
  readonly by: number;
}

/**
 * The rows of a queue inside one transaction, without any decisions. Items that are read stay
 * locked until the transaction ends. If other servers may hold some, `head` and `dueItems` skip
 * them.
 */
export interface StoreTransaction {
  queue(name: string): Promise<QueueRow | null>;
  queueNames(ids: readonly number[]): Promise<readonly string[]>;
  addQueue(name: string, now: number): Promise<QueueRow>;
  renameQueue(id: number, name: string): Promise<void>;
  pauseQueue(id: number, isPaused: boolean): Promise<void>;
  /** Adds the items with free keys; answers the added keys. */
  insertItems(queue: number, items: readonly NewItem[]): Promise<readonly string[]>;
  valuesByKey(queue: number, keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  valuesById(ids: readonly number[]): Promise<ReadonlyMap<number, string>>;
  items(ids: readonly number[]): Promise<readonly ItemRow[]>;
  itemByKey(queue: number, key: string): Promise<ItemRow | null>;
  /**
   * Ready items in the order of lease: no deaths first, then by priority, then by arrival. None if
   * the queue is paused or unknown.
   */
  head(queue: string, limit: number): Promise<readonly WaitingRow[]>;
  dueItems(now: number, limit: number): Promise<readonly ItemRow[]>;
  leasedBy(session: string): Promise<readonly ItemRow[]>;
  /** Items of these states with a greater number, in the order of numbers. */
  itemsInStates(queue: number, states: readonly StateCode[], page: Page): Promise<readonly ItemRow[]>;
  updateItems(rows: readonly ItemRow[]): Promise<void>;
  results(keys: readonly { readonly item: number; readonly generation: number }[]): Promise<readonly ResultRow[]>;
  insertResults(rows: readonly ResultRow[]): Promise<void>;
  insertHistory(rows: readonly HistoryRow[]): Promise<void>;
  insertRefused(rows: readonly RefusedRow[]): Promise<void>;
  deathsOf(item: number): Promise<readonly UnexplainedDeath[]>;
  /** Clears the history that counts against the item, because a person gave it another chance. */
  forgetDeaths(items: readonly number[]): Promise<void>;
  /**
   * Ends the deaths of a worker as interruptions with this reason; answers the item of each, once
   * per death.
   */
  forgiveDeaths(session: string, detail: string): Promise<readonly number[]>;
  /** Nodes with sessions seen since then. */
  liveNodes(since: number): Promise<number>;
  session(id: string): Promise<SessionRow | null>;
  putSession(row: SessionRow, now: number): Promise<void>;
  /** Extends the leases of these items. */
  extendLeases(items: readonly number[], dueAt: number): Promise<void>;
  /** Records that the workers are alive. */
  seeSessions(sessions: readonly string[], now: number): Promise<void>;
  count(deltas: readonly CountDelta[]): Promise<void>;
  openItems(queue: number): Promise<number>;
  /** Adds to the number of items finished in this period. */
  tally(queue: number, period: number, done: number): Promise<void>;
  /** When a server last checked the leases. Takes the lock that lets one server check at a time. */
  lastLook(): Promise<number | null>;
  /** Null: there are no leases to check. */
  setLastLook(now: number | null): Promise<void>;
  /** Whether any worker holds an item of any queue. */
  hasLeases(): Promise<boolean>;
  /** Postpones the end of every lease by this much, but not beyond `latest`. */
  shiftLeases(addMs: number, latest: number): Promise<void>;
  /** Deletes rows that are older and unused: tallies, sessions without leases. */
  tidy(talliesBefore: number, sessionsBefore: number): Promise<void>;
  /** Deletes up to this many items of dropped queues. */
  deleteDropped(prefix: string, limit: number): Promise<void>;
}

/**
 * Turns that only hand in results and lease items, of one queue. Almost all turns are of this kind.
 */
export interface OrdinaryTurns {
  readonly queue: string;
  readonly now: number;
  /** The end of the new leases. */
  readonly dueAt: number;
  /** The bytes of values that one worker may get together. */
  readonly room: number;
  /** In the order of items, each once. */
  readonly commits: readonly OrdinaryCommit[];
  /** The wanted items, in the order of turns. */
  readonly wants: readonly { readonly session: string; readonly most: number }[];
}

/** A commit of a lease that its worker should still hold. */
export interface OrdinaryCommit extends Commit {
  readonly session: string;
  readonly node: string;
}

/** The outcome of ordinary turns; every commit was written. */
export interface OrdinaryAnswer {
  /** One list for each entry of `wants`. */
  readonly leases: readonly (readonly Lease[])[];
  readonly isPaused: boolean;
  /** Null: there was an item for every wish. */
  readonly openItems: number | null;
}

/** The number of items finished in a period. */
export interface Tallied {
  readonly done: number;
  readonly first: number | null;
}

/** A database of rows. Reads see committed data. */
export interface QueueStore extends AsyncDisposable {
  readonly place: string;
  /** The time that all servers of this database share; null: it has one server at a time. */
  readonly sharedNow: (() => Promise<number>) | null;
  /**
   * Resolves once the whole work is durable; work that throws changes nothing. Work may run again
   * after a conflict.
   */
  transaction<T>(work: (rows: StoreTransaction) => Promise<T>): Promise<T>;
  /**
   * Takes turns in one durable step, without the cost of a transaction of many statements. Null:
   * something about them is not ordinary, such as a lease that is not held, and nothing changed.
   */
  ordinaryTurns(turns: OrdinaryTurns): Promise<OrdinaryAnswer | null>;
  findQueue(name: string): Promise<QueueRow | null>;
  queueNames(): Promise<readonly string[]>;
  counts(queue: number): Promise<ReadonlyMap<string, number>>;
  /** The number of items finished since then, and the start of the first period counted. */
  tallied(queue: number, since: number): Promise<Tallied>;
  workers(queue: number): Promise<readonly WorkerLeases[]>;
  /** The sessions whose process is in this pod. */
  sessionsIn(pod: string): Promise<readonly string[]>;
  results(queue: number, page: Page & { readonly generation: number | null }): Promise<readonly StoredResult[]>;
  failed(queue: number, page: Page): Promise<readonly Omit<FailedItem, 'history'>[]>;
  history(item: number, limit: number): Promise<readonly HistoryEntry[]>;
  story(queue: number, key: string): Promise<Omit<ItemStory, 'history'> | null>;
}
