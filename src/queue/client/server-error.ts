import { ERROR_CODES, type ErrorCode } from '../../core/error-codes.ts';
import { HoldfastError } from '../../core/errors.ts';

/** An error as the protocol tells it. */
export interface ServerError {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

/** The error that a server told. */
export function serverError({ code, message, hint }: ServerError): HoldfastError {
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'QUEUE_REQUEST_REFUSED';
  return new HoldfastError(known, hint === null ? { message } : { message, hint });
}
