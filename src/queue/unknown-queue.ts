import { HoldfastError } from '../core/errors.ts';
import { excerpt } from '../core/printable.ts';

/** The error of a call that names an unknown queue. */
export function unknownQueue(name: string): HoldfastError {
  return new HoldfastError('QUEUE_UNKNOWN', { message: `there is no queue "${excerpt(name, 70)}"` });
}
