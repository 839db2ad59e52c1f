import type { Redactor } from '../../core/secrets.ts';

/**
 * The failure of one request, before the decision to retry. It carries no header and no query,
 * because those may hold secrets.
 */
export class RequestFailure extends Error {
  /** HTTP status, 0 when no answer came. */
  readonly status: number;
  /** The store's own name for it (`NoSuchBucket`), or the system's (`ECONNRESET`). */
  readonly reason: string;
  /** Seconds that the store asked the client to wait. */
  readonly retryAfter: number | null;
  /** Whether a retry may help. */
  readonly isTransient: boolean;
  /** How many tries were made. */
  readonly tries: number;

  constructor(facts: {
    readonly message: string;
    readonly status?: number;
    readonly reason: string;
    readonly retryAfter?: number | null;
    readonly isTransient: boolean;
    readonly tries?: number;
    readonly cause?: unknown;
  }) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'RequestFailure';
    this.status = facts.status ?? 0;
    this.reason = facts.reason;
    this.retryAfter = facts.retryAfter ?? null;
    this.isTransient = facts.isTransient;
    this.tries = facts.tries ?? 1;
  }

  /** Copies the failure without secrets that the store or a proxy repeated in its answer. */
  redacted(redactor: Redactor): RequestFailure {
    const { message, reason, status, retryAfter, isTransient, tries, cause } = this;
    const clean = { message: redactor.redact(message), reason: redactor.redact(reason) };
    return new RequestFailure({ ...clean, status, retryAfter, isTransient, tries, cause });
  }

  /** Copies the failure with its number of tries. */
  after(tries: number): RequestFailure {
    const { message, status, reason, retryAfter, isTransient, cause } = this;
    return new RequestFailure({ message, status, reason, retryAfter, isTransient, tries, cause });
  }
}

/** Statuses after which the same request may succeed later. */
export function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** The reason when another process aborted an upload in progress; only a restart helps. */
export const UPLOAD_GONE = 'NoSuchUpload';
/** The reason when an answer is longer than the caller accepts. */
export const TOO_LONG = 'ANSWER_TOO_LONG';
/** The reason when a store holds other bytes than the client sent. */
export const WRONG_BYTES = 'CHECKSUM';
