import type { ErrorCode } from '../../core/error-codes.ts';
import type { Kinship } from '../process/process-table.ts';
import type { Stamps } from './look.ts';

/** The contents of the folder when the trainer was started. */
export interface Before {
  readonly entries: readonly (readonly [string, Stamps])[];
  /** The names of the entries that an earlier attempt has sealed. */
  readonly sealed: readonly string[];
}

/** The start data of the watch thread. */
export interface WatchWork {
  readonly dir: string;
  readonly attempt: number;
  readonly before: Before;
  /** How to tell the trainer's processes from others. */
  readonly trainer: Kinship;
}

/**
 * Tells the thread that the trainer has ended. The thread seals what is left and then answers
 * `finished`.
 */
export interface ToWatch {
  readonly type: 'finish';
  /** The trainer ended with 0, so no save was cut off. */
  readonly isClean: boolean;
}

/** The sealed save that a resume takes first. */
export interface NewestSave {
  readonly step: number;
  /** The age of its last byte; null: it was written before the trainer was started. */
  readonly ageMs: number | null;
}

/** A message from the watch thread. */
export type FromWatch =
  | {
      readonly type: 'sealed';
      readonly name: string;
      readonly path: string;
      readonly save: string;
      readonly step: number;
      readonly bytes: number;
      readonly totalMs: number;
      readonly newest: NewestSave | null;
    }
  /** Sealed saves were deleted or overwritten; `newest` is the best one left. */
  | {
      readonly type: 'lost';
      readonly names: readonly string[];
      readonly how: 'deleted' | 'overwritten';
      readonly newest: NewestSave | null;
    }
  /** A note for people. */
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'failed'; readonly code: ErrorCode | 'INTERNAL'; readonly message: string }
  /** The thread is still busy with a long step. */
  | { readonly type: 'alive' }
  | { readonly type: 'finished' };
