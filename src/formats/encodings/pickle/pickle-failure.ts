import type { EvidenceCode } from '../../../evidence/catalogue.ts';

/** Why a walk stopped before STOP. The walker throws it inside and returns it to the caller. */
export class PickleFailure extends Error {
  readonly code: Extract<EvidenceCode, 'PICKLE_TRUNCATED' | 'PICKLE_INVALID' | 'LIMIT_EXCEEDED'>;
  /** Offset in the source that was walked. */
  readonly offset: number;

  constructor(code: PickleFailure['code'], offset: number, message: string) {
    super(message);
    this.code = code;
    this.offset = offset;
  }
}

/** Bounds of a walk, in addition to `LIMITS`. */
export const PICKLE_LIMITS = {
  /** Longest line of the text opcodes. */
  lineBytes: 1024 * 1024,
  /** Longer text is cut to this length. */
  textBytes: 64 * 1024,
  /** Longest bytes object that is kept. */
  keptBytes: 4096,
  /** Longest integer that is read, in digits or bytes. */
  integerDigits: 4300,
  /** Open marks: how deep unfinished containers may nest. */
  marks: 4096,
  /** Values on the stack. */
  stack: 2_000_000,
  /** Distinct names one pickle may import. */
  globals: 10_000,
  /**
   * Largest weight of the value tree, in bytes; the process may grow to about twice that before the
   * garbage collector acts.
   */
  weight: 88 * 1024 * 1024,
} as const;
