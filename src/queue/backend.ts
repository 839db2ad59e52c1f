import type { CommitVerdict } from '../domain/queue/fencing.ts';
import type { ItemState } from '../domain/queue/item-state.ts';

/** An item as its owner pushes it. */
export interface NewItem {
  /** Its identity in the queue. */
  readonly key: string;
  /** JSON text; workers get it byte for byte. */
  readonly value: string;
  /** Higher numbers are leased first. */
  readonly priority: number;
}

/**
 * The outcome of a push: a new key, a known key with the same value, or a key in use with another
 * value, which stays.
 */
export type Pushed = 'added' | 'present' | 'conflict';

/** One life of one worker. A worker that reconnects uses the same id. */
export interface Session {
  readonly id: string;
  readonly node: string;
  readonly process: string;
}

/** One lease, named by its token. Only its holder knows that the token is the newest. */
export interface LeaseRef {
  readonly item: number;
  readonly token: number;
}

/** An item that a worker leases. */
export interface Lease extends LeaseRef {
  readonly key: string;
  readonly value: string;
  readonly generation: number;
  /** The last `progress` of the previous worker, or null. */
  readonly progress: string | null;
  readonly tries: number;
}

/** A result that a worker commits under its lease. */
export interface Commit extends LeaseRef {
  readonly generation: number;
  /** JSON text; stored byte for byte. */
  readonly result: string;
}

/**
 * One request of one worker: its results, and the number of items it wants next. All of it takes
 * effect together, durably, or not at all.
 */
export interface Turn {
  readonly queue: string;
  readonly session: Session;
  readonly commits: readonly Commit[];
  readonly fails: readonly (LeaseRef & { readonly error: string })[];
  /** Leases given back; `spentMs` of work on each were lost. */
  readonly releases: readonly (LeaseRef & { readonly spentMs: number })[];
  readonly progress: readonly (LeaseRef & { readonly state: string })[];
  /**
   * Why the worker is about to end (a signal, a reclaim). It explains the worker’s later losses.
   */
  readonly notice: string | null;
  readonly lease: number;
}

/** The outcome of one commit. */
export interface CommitAnswer {
  readonly verdict: CommitVerdict;
  /** The committed result, if it is another one. */
  readonly standing: string | null;
}

/** The answer to one turn of a worker. */
export interface TurnAnswer {
  readonly commits: readonly CommitAnswer[];
  /** For fails, releases and progress, in this order: whether the lease was still held. */
  readonly held: readonly boolean[];
  readonly leases: readonly Lease[];
  /** Every item is finished. */
  readonly isDrained: boolean;
  readonly isPaused: boolean;
}

/** The counts of a queue, by state, and what its interruptions cost. */
export interface QueueStatus {
  readonly queue: string;
  readonly isPaused: boolean;
  readonly counts: Readonly<Record<ItemState, number>>;
  readonly total: number;
  /** Leases that ended with a notice or were given back. */
  readonly givenBack: number;
  /** Leases that were lost without a notice from their worker. */
  readonly lost: number;
  /** Failed tries. */
  readonly failures: number;
  /** An upper bound of the lost work, in milliseconds. */
  readonly lostMs: number;
  /** Refused commits whose bytes differ from the committed result. */
  readonly refused: number;
  /** Items done per second during the last minute. */
  readonly perSecond: number;
  readonly workers: readonly WorkerLeases[];
}

/** The leases of one worker, as `status` shows them. */
export interface WorkerLeases {
  readonly session: string;
  readonly node: string;
  readonly process: string;
  readonly leases: number;
  /** The time of the oldest lease. */
  readonly since: number;
}

/** A committed result, as `results` prints it. */
export interface StoredResult {
  readonly item: number;
  readonly key: string;
  readonly generation: number;
  readonly token: number;
  readonly result: string;
  readonly committedAt: number;
  readonly node: string;
}

/** A result that was refused because other bytes stand, kept for inspection. */
export interface RefusedResult {
  readonly generation: number;
  readonly token: number;
  readonly result: string;
  readonly refusedAt: number;
  /** The node and process of the worker, or its session if it is forgotten. */
  readonly node: string;
  readonly process: string;
}

/** How a lease ended, other than with a result. */
export type LeaseEnd = 'released' | 'interrupted' | 'lost' | 'expired' | 'failed' | 'cancelled' | 'superseded';

/** One line of an item’s history. */
export interface HistoryEntry {
  readonly token: number;
  readonly generation: number;
  readonly end: LeaseEnd;
  readonly leasedAt: number;
  readonly endedAt: number;
  readonly node: string;
  readonly process: string;
  /** The number of items leased together. */
  readonly together: number;
  /** It counted as an unexplained death of a worker. */
  readonly isDeath: boolean;
  /** The error of a failed try, or the notice that explains the end. */
  readonly detail: string | null;
}

/** All that the queue knows about one item. */
export interface ItemStory {
  readonly item: number;
  readonly key: string;
  readonly value: string;
  readonly state: ItemState;
  readonly generation: number;
  readonly token: number;
  readonly tries: number;
  readonly deaths: number;
  readonly progress: string | null;
  /** Ends of leases, oldest first; the newest thousand. */
  readonly history: readonly HistoryEntry[];
  /** One per generation. */
  readonly results: readonly StoredResult[];
  /** Oldest first; the newest ten. */
  readonly refused: readonly RefusedResult[];
}

/** An item that needs a person. */
export interface FailedItem {
  readonly item: number;
  readonly key: string;
  readonly state: 'failed' | 'aside';
  readonly tries: number;
  readonly deaths: number;
  readonly history: readonly HistoryEntry[];
}

/** Continues after the item of this number. */
export interface Page {
  readonly after: number;
  readonly limit: number;
}

/** Changes to many items run in steps, so that none blocks the database for long. */
export interface Step {
  readonly changed: number;
  /** The start of the next step; null: finished. */
  readonly next: number | null;
}

/** The items to try again. */
export interface Retry {
  /** Only this item, or null for all. */
  readonly key: string | null;
  /** Also compute finished items again, as a new generation. */
  readonly isNewGeneration: boolean;
  /** Also cancelled items. */
  readonly isWithCancelled: boolean;
  readonly page: Page;
}

/** The effects of a sweep: waiting workers may ask again. */
export interface Sweep {
  /** Queues with ready items. */
  readonly woken: readonly string[];
  /** Leases that expired. */
  readonly expired: number;
  /** The time added to the ends of leases, or 0. */
  readonly extendedMs: number;
}

/**
 * A durable queue. A promise resolves after its change is durable; if it rejects, nothing changed.
 * A call with an unknown queue rejects with QUEUE_UNKNOWN; only `push` creates queues.
 */
export interface QueueBackend extends AsyncDisposable {
  /** The name of the database for people, without its password. */
  readonly place: string;
  push(queue: string, items: readonly NewItem[]): Promise<readonly Pushed[]>;
  /**
   * Takes the requests of several workers in one durable step. Each gets the same answer as if it
   * had come alone.
   */
  turns(turns: readonly Turn[]): Promise<readonly TurnAnswer[]>;
  /** Extends only the named leases. Answers, for each worker, the ones that it no longer holds. */
  renew(renewals: readonly Renewal[]): Promise<readonly (readonly LeaseRef[])[]>;
  /**
   * Records that a worker has connected; the number of its connection only grows. Its deaths that
   * were counted while it was cut off no longer count.
   */
  connected(session: Session): Promise<number>;
  /**
   * Ends the leases of a worker whose connection of that number dropped `silentMs` ago and that did
   * not reconnect.
   */
  disconnected(session: string, connection: number, silentMs: number): Promise<Sweep>;
  /**
   * Explains coming and past losses of a worker: a pod condition, a lost node. Deaths that were
   * counted before the explanation came no longer count. If `isGone`, `session` loses its leases
   * now; a null notice then explains nothing.
   */
  explain(session: string, notice: string | null, isGone: boolean): Promise<Sweep>;
  /** The workers that run in this pod, or ran in it during the last day. */
  sessionsIn(pod: string): Promise<readonly string[]>;
  /**
   * Ends expired leases, returns delayed items, and extends leases by the time without a server.
   */
  sweep(): Promise<Sweep>;
  queues(): Promise<readonly string[]>;
  status(queue: string): Promise<QueueStatus>;
  results(queue: string, page: Page & { readonly generation: number | null }): Promise<readonly StoredResult[]>;
  failed(queue: string, page: Page): Promise<readonly FailedItem[]>;
  /** Null: the item does not exist. */
  story(queue: string, key: string): Promise<ItemStory | null>;
  retry(queue: string, retry: Retry): Promise<Step>;
  cancel(queue: string, key: string | null, page: Page): Promise<Step>;
  setPaused(queue: string, isPaused: boolean): Promise<void>;
  /** Hides the queue at once; `sweep` deletes its rows step by step. */
  drop(queue: string): Promise<void>;
}

/** Records that a worker is alive. */
export interface Renewal {
  readonly session: string;
  readonly leases: readonly LeaseRef[];
}

/** The rules that a server applies to all its queues. */
export interface QueueRules {
  readonly leaseMs: number;
  /** The number of failed tries after which an item fails for good. */
  readonly tries: number;
  /** The number of unexplained deaths that sets an item aside. */
  readonly poison: number;
}
