import type { EvidenceCode } from '../evidence/catalogue.ts';

/** Why a walk stopped before STOP. Thrown inside the walker, returned by it. */
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

/** Bounds of a walk, beside those of `LIMITS`. */
export const PICKLE_LIMITS = {
  /** Longest line of the text opcodes. */
  lineBytes: 1024 * 1024,
  /** Text beyond this is cut. */
  textBytes: 64 * 1024,
  /** Bytes objects up to this are kept. */
  keptBytes: 4096,
  /** Integers up to this many digits or bytes are read. */
  integerDigits: 4300,
  /** Open marks: how deep unfinished containers may nest. */
  marks: 4096,
  /** Values on the stack. */
  stack: 2_000_000,
  /** Distinct names one pickle may import. */
  globals: 10_000,
  /** What the value tree may weigh, in bytes; the collector lets the process grow to about twice that before it acts. */
  weight: 88 * 1024 * 1024,
} as const;
