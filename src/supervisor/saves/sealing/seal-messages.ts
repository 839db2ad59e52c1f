import type { Retention } from '../../../store/retention/retention.ts';
import type { Save } from '../../../store/commit/save.ts';
import { HoldfastError, toError } from '../../../core/errors.ts';
import type { CommitGate } from './commit-gate.ts';
import { ERROR_CODES, type ErrorCode } from '../../../core/error-codes.ts';

/** One node's share of sealing a save that all nodes have written. */
export interface SharedWork {
  readonly kind: 'seal-together';
  readonly save: Save;
  readonly nodes: number;
  readonly nodeRank: number;
  /** The ranks of this node. */
  readonly ranks: readonly number[];
  /** The longest wait for the other nodes, in each phase. */
  readonly boundMs: number;
}

/** The time of each part of sealing. */
export interface SealPhases {
  /** The copy out of memory with its checksums; null when the trainer wrote to the store itself. */
  readonly copyMs: number | null;
  /** The checksums of bytes that were not copied, and the syncs of all files. */
  readonly checksumMs: number;
  /** From the receipts to the synced name. */
  readonly commitMs: number;
}

/** A save that is now a checkpoint. */
export interface SealedSave {
  /** Its name in the run's folder. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly phases: SealPhases;
  /** True for a `torch.save` file that names neither a random state nor a place in the data. */
  readonly lacksPlaceInData?: boolean;
}

/** A work order for the seal thread. */
export type Work =
  /**
   * `image`: the folder in memory whose files are copied first; null: they lie in the save's own
   * folder.
   */
  | { readonly kind: 'seal'; readonly save: Save; readonly image: string | null }
  | SharedWork
  | { readonly kind: 'prune'; readonly retention: Retention };

/**
 * Work orders are numbered, so that a late answer to an abandoned one is not taken for the next.
 */
export type ToThread =
  | { readonly type: 'work'; readonly id: number; readonly work: Work; readonly gate: CommitGate }
  | { readonly type: 'stop'; readonly id: number };

/** Each work order gets one answer; byte counts are reported on the way. */
export type FromThread =
  | { readonly type: 'bytes'; readonly id: number; readonly done: number; readonly total: number }
  | { readonly type: 'done'; readonly id: number; readonly sealed: SealedSave | null }
  | { readonly type: 'failed'; readonly id: number; readonly failure: Failure };

/** An error as plain data, the only form that can cross threads. */
export interface Failure {
  readonly code: string | null;
  readonly message: string;
  readonly hint: string | null;
}

/** An error as plain data, for another thread. */
export function packFailure(thrown: unknown): Failure {
  const error = toError(thrown);
  if (!(error instanceof HoldfastError)) return { code: null, message: error.message, hint: null };
  return { code: error.code, message: error.message, hint: error.hint ?? null };
}

/** The error of another thread, from its plain data. */
export function unpackFailure({ code, message, hint }: Failure): Error {
  if (code === null || !Object.hasOwn(ERROR_CODES, code)) return new Error(message);
  return new HoldfastError(code as ErrorCode, { message, ...(hint === null ? {} : { hint }) });
}
