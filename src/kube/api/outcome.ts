/**
 * The reasons why the API server did not do what it was asked for.
 *
 * - `notFound`: no such object, or the kind is not installed;
 * - `conflict`: the object changed since it was read, or a precondition does not hold;
 * - `alreadyExists`: the name is taken;
 * - `gone`: the resource version or the continue token is too old: list again;
 * - `forbidden`: a permission is missing, a quota is exceeded, or the credentials are refused;
 * - `invalid`: the object breaks a rule; the same request fails again;
 * - `tooManyRequests`: ask again after `retryAfterMs`; a budget for disruptions answers so, too;
 * - `unavailable`: no answer, or an error of the server. A write may have happened all the same.
 */
export type FailureKind = 'notFound' | 'conflict' | 'alreadyExists' | 'gone' | 'forbidden' | 'invalid' | 'tooManyRequests' | 'unavailable';

/** A request that failed. */
export interface Failure {
  readonly ok: false;
  readonly kind: FailureKind;
  /** For people: names the request and the reason of the API server. Printable and short. */
  readonly message: string;
  /** The status of HTTP; null: no answer came. */
  readonly status: number | null;
  /** When the API server wants to be asked again; null: it did not say. */
  readonly retryAfterMs: number | null;
}

/** The value, or why there is none. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | Failure;

/** The outcome of a request that succeeded. */
export function succeeded<T>(value: T): Outcome<T> {
  return { ok: true, value };
}
