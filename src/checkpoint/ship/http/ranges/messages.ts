import type { RawGet } from '../raw-get.ts';

/** A part of an open file that the answer to a request is written to. */
export interface FilePlace {
  /** Open in this process, on whichever thread, until the answer is there. */
  readonly fd: number;
  readonly offset: number;
  /** Each so many bytes have a checksum of their own; a multiple of 1 MiB. */
  readonly partBytes: number;
}

/** A request whose answer goes into a file: plain data, which can be handed to a thread. */
export type RangeRequest = Omit<RawGet, 'sink'> & FilePlace;

export type ToThread =
  /** Before the first request: certificates beyond the runtime's own, null for none. */
  | { readonly type: 'trust'; readonly ca: readonly string[] | null }
  | { readonly type: 'get'; readonly id: number; readonly request: RangeRequest; readonly idleMs: number }
  | { readonly type: 'stop'; readonly id: number };

/** Each request is answered once, when nothing is written for it any more; bytes are told on the way. */
export type FromThread =
  | { readonly type: 'bytes'; readonly id: number; readonly bytes: number }
  | { readonly type: 'done'; readonly id: number; readonly sums: readonly string[] }
  /** The answer was not the plain one that was expected; nothing was written. */
  | { readonly type: 'other'; readonly id: number }
  | ({ readonly type: 'failed'; readonly id: number } & SystemFailure);

/** Of an error, what whoever hears of it judges it by. */
export interface SystemFailure {
  readonly code: string | null;
  readonly errno: number | null;
  readonly message: string;
}
