import { excerpt, printable } from '../../core/printable.ts';
import { systemCode, toError } from '../../core/errors.ts';
import type { Failure, FailureKind } from '../api/outcome.ts';
import { numberAt, textAt } from '../objects/fields.ts';

const KINDS: Readonly<Record<number, FailureKind>> = {
  400: 'invalid',
  401: 'forbidden',
  403: 'forbidden',
  404: 'notFound',
  405: 'invalid',
  409: 'conflict',
  410: 'gone',
  413: 'invalid',
  415: 'invalid',
  422: 'invalid',
  429: 'tooManyRequests',
};
const LONGEST = 400;

/** The failure in an answer, or in the last event of a watch: a Status object with its code. */
export function failureOf(request: string, code: number, status: unknown, retryAfterSeconds: number | null = null): Failure {
  const seconds = numberAt(status, 'details', 'retryAfterSeconds') ?? retryAfterSeconds;
  const isTaken = code === 409 && textAt(status, 'reason') === 'AlreadyExists';
  return {
    ok: false,
    kind: isTaken ? 'alreadyExists' : (KINDS[code] ?? 'unavailable'),
    message: `${request}: ${excerpt(textAt(status, 'message') ?? `the API server answered ${code}`, LONGEST)}`,
    status: code,
    retryAfterMs: seconds === null || seconds < 0 ? null : seconds * 1000,
  };
}

/** The failure of a request without an answer that can be used. */
export function noAnswer(request: string, thrown: unknown): Failure {
  const reason = printable((systemCode(thrown) ?? toError(thrown).message).slice(0, LONGEST));
  return { ok: false, kind: 'unavailable', message: `${request}: ${reason}`, status: null, retryAfterMs: null };
}
