import type { Clock } from '../../core/clock.ts';
import type { Store } from '../../store/folder/store.ts';
import type { ObjectStore } from '../backends/backend.ts';
import type { Journal } from './journal.ts';
import type { RateLimit } from '../transfer/rate-limit.ts';

/** What a copy needs: the store, limits and callbacks. */
export interface ShipOptions {
  readonly store: Store;
  /**
   * The store, opened with {@link stop}'s signal, so that the first failure aborts all transfers.
   */
  readonly remote: ObjectStore;
  readonly stop: AbortController;
  /** Aborts the wait for another process; without it only {@link stop} does. */
  readonly signal?: AbortSignal;
  readonly journal: Journal;
  readonly limit: RateLimit;
  /** Transfers at a time. */
  readonly parallel: number;
  readonly clock: Clock;
  readonly onProgress?: (progress: ShipProgress) => void;
  /** Called again and again while another process ships the same checkpoint to the same place. */
  readonly onWait?: (pid: number | null) => void;
}

/** The progress of a copy. */
export interface ShipProgress {
  readonly done: number;
  readonly total: number;
  readonly current: string;
}
