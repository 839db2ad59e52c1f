import type { RawGet } from '../raw-get.ts';

/** The place in an open file for the body of an answer. */
export interface FilePlace {
  /** The file descriptor. It stays open in this process until the answer is there. */
  readonly fd: number;
  readonly offset: number;
  /** The bytes per checksum, a multiple of 1 MiB. */
  readonly partBytes: number;
}

/** A request whose answer goes into a file, as plain data for a thread. */
export type RangeRequest = Omit<RawGet, 'sink'> & FilePlace;

/** A message to a range thread. */
export type ToThread =
  /** Sent before the first request: certificates beyond the runtime's own, or null. */
  | { readonly type: 'trust'; readonly ca: readonly string[] | null }
  | { readonly type: 'get'; readonly id: number; readonly request: RangeRequest; readonly idleMs: number }
  | { readonly type: 'stop'; readonly id: number };

/**
 * A message from a range thread. Each request gets one final message, after its last write; `bytes`
 * messages come before.
 */
export type FromThread =
  | { readonly type: 'bytes'; readonly id: number; readonly bytes: number }
  | { readonly type: 'done'; readonly id: number; readonly sums: readonly string[] }
  /** The answer was not the expected plain one, and nothing was written. */
  | { readonly type: 'other'; readonly id: number }
  | ({ readonly type: 'failed'; readonly id: number } & SystemFailure);

/** The facts of a system error that the receiver needs to classify it. */
export interface SystemFailure {
  readonly code: string | null;
  readonly errno: number | null;
  readonly message: string;
}
