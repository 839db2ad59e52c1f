import type { ErrorCode } from '../../core/error-codes.ts';
import type { Kinship } from '../process-table.ts';
import type { Stamps } from './look.ts';

/** What lay in the folder when the trainer was started. */
export interface Before {
  readonly entries: readonly (readonly [string, Stamps])[];
  /** Those of them that are sealed, by an earlier look. */
  readonly sealed: readonly string[];
}

/** What the thread that watches is started with. */
export interface WatchWork {
  readonly dir: string;
  readonly attempt: number;
  readonly before: Before;
  /** How the trainer's processes are told from others. */
  readonly trainer: Kinship;
}

/** To the thread: the trainer has ended, seal what it has left, and then say so. */
export interface ToWatch {
  readonly type: 'finish';
  /** It ended with 0: nobody was cut off in the middle of a save. */
  readonly isClean: boolean;
}

/** From the thread. */
export type FromWatch =
  | {
      readonly type: 'sealed';
      readonly name: string;
      readonly path: string;
      readonly save: string;
      readonly step: number;
      readonly bytes: number;
      readonly totalMs: number;
    }
  /** Sealed ones were deleted or written over; `newest` is the step of what is left, null when nothing is. */
  | { readonly type: 'lost'; readonly names: readonly string[]; readonly how: 'deleted' | 'overwritten'; readonly newest: number | null }
  /** Something a person should know. */
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'failed'; readonly code: ErrorCode | 'INTERNAL'; readonly message: string }
  /** It goes on with something that takes long. */
  | { readonly type: 'alive' }
  | { readonly type: 'finished' };
