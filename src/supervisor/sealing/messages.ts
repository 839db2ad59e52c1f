import type { Retention } from '../../checkpoint/store/retention.ts';
import type { Save } from '../../checkpoint/store/save.ts';
import type { SharedWork } from '../gang/seal-together.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import type { CommitGate } from './commit-gate.ts';
import { ERROR_CODES, type ErrorCode } from '../../core/error-codes.ts';

/** How long each part of sealing took. */
export interface SealPhases {
  /** Out of memory, with the checksums in the same pass; null where the trainer wrote to the store itself. */
  readonly copyMs: number | null;
  /** Checksums where nothing was copied, and the syncs of all files. */
  readonly checksumMs: number;
  /** From the receipts to the synced name. */
  readonly commitMs: number;
}

/** A save that is a checkpoint now. */
export interface SealedSave {
  /** In the run's folder. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly phases: SealPhases;
}

/** What the thread is asked to do. */
export type Work =
  /** `image`: the folder in memory whose files are copied first; null: they lie in the save's own folder. */
  | { readonly kind: 'seal'; readonly save: Save; readonly image: string | null }
  | SharedWork
  | { readonly kind: 'prune'; readonly retention: Retention };

/** Works are numbered, so that the answer to one that was given up is not taken for that to the next. */
export type ToThread =
  | { readonly type: 'work'; readonly id: number; readonly work: Work; readonly gate: CommitGate }
  | { readonly type: 'stop'; readonly id: number };

/** Each work is answered once; bytes are told on the way. */
export type FromThread =
  | { readonly type: 'bytes'; readonly id: number; readonly done: number; readonly total: number }
  | { readonly type: 'done'; readonly id: number; readonly sealed: SealedSave | null }
  | { readonly type: 'failed'; readonly id: number; readonly failure: Failure };

/** An error on its way between threads, where only plain data can go. */
export interface Failure {
  readonly code: string | null;
  readonly message: string;
  readonly hint: string | null;
}

export function packFailure(thrown: unknown): Failure {
  const error = toError(thrown);
  if (!(error instanceof HoldfastError)) return { code: null, message: error.message, hint: null };
  return { code: error.code, message: error.message, hint: error.hint ?? null };
}

export function unpackFailure({ code, message, hint }: Failure): Error {
  if (code === null || !Object.hasOwn(ERROR_CODES, code)) return new Error(message);
  return new HoldfastError(code as ErrorCode, { message, ...(hint === null ? {} : { hint }) });
}
