import { constants } from 'node:os';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';
import type { ExitCode } from './exit-codes.ts';

export interface ErrorFacts {
  /** What went wrong: names the thing, its value and the rule it broke. One sentence. */
  readonly message: string;
  /** The way out: what the reader can do now. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Where it ends a command otherwise than its code says. */
  readonly exit?: ExitCode;
}

/** An error the user can act on. Its code is stable, is documented by `holdfast explain CODE`, and decides the exit code unless it is told. */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly #exit: ExitCode | undefined;

  constructor(code: ErrorCode, facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'HoldfastError';
    this.code = code;
    this.hint = facts.hint;
    this.#exit = facts.exit;
  }

  get exitCode(): ExitCode {
    return this.#exit ?? ERROR_CODES[this.code].exit;
  }
}

/** Makes an Error of whatever was thrown. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The system's error code (`ENOENT`, `EIO`, …) of a thrown value, or null. */
export function systemCode(thrown: unknown): string | null {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return null;
  // Node has no name for some, such as a used-up quota or a stale handle of NFS, and says "UNKNOWN".
  const { code } = thrown;
  if (typeof code !== 'string') return null;
  return 'errno' in thrown && !code.startsWith('E') ? (nameOf(thrown.errno) ?? code) : code;
}

function nameOf(errno: unknown): string | undefined {
  return Object.entries(constants.errno).find(([, number]) => number === -Number(errno))?.[0];
}
