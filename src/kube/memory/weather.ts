import type { ObjectKey } from '../api/api-object.ts';
import type { Failure, Outcome } from '../api/outcome.ts';
import type { Resource } from '../api/resource.ts';

/** A request, as faults are chosen for it. */
export interface Call {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'replace' | 'patch' | 'delete' | 'evict' | 'log' | 'proxy';
  readonly resource: Resource;
  readonly key: ObjectKey | null;
}

/** What becomes of one request. */
export interface RequestFault {
  readonly latencyMs: number;
  /** The failure that the client gets; null: none. */
  readonly failure: Failure | null;
  /** Whether the API server did what it was asked for before the failure. */
  readonly isDone: boolean;
}

/** What becomes of one event of a watch. */
export interface WatchFault {
  /** Between the write and its report. Events keep their order. */
  readonly lagMs: number;
  readonly isRepeated: boolean;
  /** How the watch ends instead of reporting the event; null: it goes on. */
  readonly end: Outcome<null> | null;
}

/** The faults between a client and a cluster in memory. */
export interface Weather {
  request(call: Call): RequestFault;
  watch(call: Call): WatchFault;
  /** Called when the cluster has done a request, before the client hears of it. */
  done(call: Call): void;
}

/** No faults, no delays. */
export const CALM: Weather = {
  request: () => ({ latencyMs: 0, failure: null, isDone: false }),
  watch: () => ({ lagMs: 0, isRepeated: false, end: null }),
  done: () => undefined,
};
