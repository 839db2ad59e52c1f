import type { ServerResponse } from 'node:http';
import { HoldfastError, toError } from '../../core/errors.ts';
import type { ErrorCode } from '../../core/error-codes.ts';

/** The HTTP status of each error; 500 for all others. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  QUEUE_UNKNOWN: 404,
  QUEUE_ITEM_UNKNOWN: 404,
  QUEUE_REQUEST_REFUSED: 400,
  QUEUE_TOKEN_REFUSED: 401,
  QUEUE_DATABASE_FULL: 507,
  QUEUE_DATABASE_FAILED: 503,
  QUEUE_DATABASE_BUSY: 503,
};

/** A request that breaks the protocol; the status tells a program which rule. */
export class RequestError extends HoldfastError {
  readonly status: number;

  constructor(status: number, message: string) {
    super('QUEUE_REQUEST_REFUSED', { message });
    this.status = status;
  }
}

/** An error as the protocol tells it. */
export interface ErrorAnswer {
  readonly status: number;
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint: string | null };
}

/** Tells an error as JSON. An internal error does not reveal its details. */
export function errorAnswer(thrown: unknown): ErrorAnswer {
  const error = thrown instanceof HoldfastError ? thrown : new HoldfastError('INTERNAL', { message: toError(thrown).message });
  const status = error instanceof RequestError ? error.status : (STATUS[error.code] ?? 500);
  return { status, error: { code: error.code, message: error.message, hint: error.hint ?? null } };
}

/** Answers with an error as JSON. */
export function sendError(response: ServerResponse, thrown: unknown): void {
  const { status, error } = errorAnswer(thrown);
  if (response.headersSent) {
    // The reader sees a truncated answer, not one that looks complete.
    response.destroy();
    return;
  }
  // The rest of a refused body must not be read as the next request.
  if (status === 408 || status === 413) response.setHeader('connection', 'close');
  sendJson(response, status, { error });
}

/** Answers with one JSON document. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
