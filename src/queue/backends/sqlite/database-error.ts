import { HoldfastError, toError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';

/** The primary result codes of SQLite that a user can act on. */
const BUSY = 5;
const READ_ONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

/** Converts an error of SQLite into one with a stable code. */
export function databaseError(thrown: unknown, path: string): HoldfastError {
  if (thrown instanceof HoldfastError) return thrown;
  const error = toError(thrown);
  const code = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;
  const place = printable(path);
  const facts = { cause: error };
  switch (code) {
    case BUSY:
      return new HoldfastError('QUEUE_DATABASE_BUSY', {
        ...facts,
        message: `${place} is in use by another process`,
        hint: 'One server owns a SQLite file. End the other one, or use PostgreSQL for several servers.',
      });
    case FULL:
      return new HoldfastError('QUEUE_DATABASE_FULL', {
        ...facts,
        message: `the disk of ${place} is full`,
        hint: 'Make room; the server goes on by itself.',
      });
    case CORRUPT:
    case NOT_A_DATABASE:
      return new HoldfastError('QUEUE_DATABASE_FOREIGN', { ...facts, message: `${place} is no whole SQLite database: ${error.message}` });
    case CANNOT_OPEN:
    case READ_ONLY:
      return new HoldfastError('QUEUE_DATABASE_FAILED', { ...facts, message: `${place} cannot be opened for writing: ${error.message}` });
    default:
      return new HoldfastError('QUEUE_DATABASE_FAILED', { ...facts, message: `${place}: ${error.message}` });
  }
}
