import { HoldfastError } from '../../core/errors.ts';
import { exitOfRefusal } from '../../domain/exit/exit-contract.ts';

/** Converts a thrown value to the error that `run` ends with. */
export function asRefusal(thrown: unknown): unknown {
  if (!(thrown instanceof HoldfastError)) return thrown;
  const { code, message, hint } = thrown;
  const exit = exitOfRefusal(thrown);
  if (exit === thrown.exitCode) return thrown;
  return new HoldfastError(code, { message, ...(hint === undefined ? {} : { hint }), cause: thrown, exit });
}
