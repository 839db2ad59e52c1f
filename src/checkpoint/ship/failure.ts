/** What went wrong with one request, before it is decided whether to try again. Carries no header and no query: those may hold secrets. */
export class RequestFailure extends Error {
  /** HTTP status, 0 when no answer came. */
  readonly status: number;
  /** The store's own name for it (`NoSuchBucket`), or the system's (`ECONNRESET`). */
  readonly reason: string;
  /** Seconds the store asked to wait. */
  readonly retryAfter: number | null;
  /** Trying the same again may help. */
  readonly isTransient: boolean;
  /** How often it was tried. */
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

  /** The same, after so many tries. */
  after(tries: number): RequestFailure {
    const { message, status, reason, retryAfter, isTransient, cause } = this;
    return new RequestFailure({ message, status, reason, retryAfter, isTransient, tries, cause });
  }
}

/** Statuses after which the same request may succeed later. */
export function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** The reason when an upload in progress was ended by somebody else: it can only be begun anew. */
export const UPLOAD_GONE = 'NoSuchUpload';
/** The reason when a store holds other bytes than were sent. */
export const WRONG_BYTES = 'CHECKSUM';
