import { HoldfastError, toError } from '../../../core/errors.ts';
import { NOT_ORDINARY } from './take-turns-function.ts';

/** Two transactions conflicted; the same work may be retried. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '23505']);
const DISK_FULL: ReadonlySet<string> = new Set(['53100', '53200']);

/** Whether the transaction failed only because of another one. */
export function isConflict(thrown: unknown): boolean {
  return CONFLICTS.has(stateOf(thrown));
}

/** Whether turns need more than the function that takes ordinary ones. */
export function isNotOrdinary(thrown: unknown): boolean {
  return stateOf(thrown) === NOT_ORDINARY;
}

/** Converts an error of the driver or the server into one with a stable code. */
export function databaseError(thrown: unknown, place: string): unknown {
  if (thrown instanceof HoldfastError || thrown instanceof TypeError || thrown instanceof RangeError) return thrown;
  const error = toError(thrown);
  const state = stateOf(thrown);
  if (DISK_FULL.has(state)) {
    return new HoldfastError('QUEUE_DATABASE_FULL', {
      message: `the disk of ${place} is full`,
      hint: 'Make room; the server goes on by itself.',
      cause: error,
    });
  }
  // An address with several entries fails with one error for each, and no message of its own.
  const message = error.message === '' && error instanceof AggregateError ? toError(error.errors[0]).message : error.message;
  return new HoldfastError('QUEUE_DATABASE_FAILED', { message: `${place}: ${message}`, cause: error });
}

function stateOf(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}
