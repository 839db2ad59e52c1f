import { constants } from 'node:os';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import { withoutUsers } from './secrets.ts';

/** The texts and the cause of a {@link HoldfastError}. */
export interface ErrorFacts {
  /** What went wrong: names the thing, its value and the rule it broke. One sentence. */
  readonly message: string;
  /** The way out: an action for the reader. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** The exit code, when it differs from the one of the error's code. */
  readonly exit?: ExitCode;
}

/**
 * An error that the user can act on. Its code is stable, `holdfast explain CODE` documents it, and
 * it decides the exit code unless `exitCode` overrides it. No text of it holds a password of an
 * address, wherever the address came from.
 */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly #exit: ExitCode | undefined;

  constructor(code: ErrorCode, facts: ErrorFacts) {
    super(withoutUsers(facts.message), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'HoldfastError';
    this.code = code;
    this.hint = facts.hint === undefined ? undefined : withoutUsers(facts.hint);
    this.#exit = facts.exit;
  }

  get exitCode(): ExitCode {
    return this.#exit ?? ERROR_CODES[this.code].exit;
  }
}

/** Converts any thrown value to an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The system's error code (`ENOENT`, `EIO`, …) of a thrown value, or null. */
export function systemCode(thrown: unknown): string | null {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return null;
  // Node reports "UNKNOWN" for some errors, such as an exhausted quota or a stale NFS handle.
  const { code } = thrown;
  if (typeof code !== 'string') return null;
  return 'errno' in thrown && !code.startsWith('E') ? (nameOf(thrown.errno) ?? code) : code;
}

function nameOf(errno: unknown): string | undefined {
  return Object.entries(constants.errno).find(([, number]) => number === -Number(errno))?.[0];
}
