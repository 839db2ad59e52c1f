import type { OpenedSave } from './save-way.ts';
import type { Written } from './save-timings.ts';
import type { Rank } from './sdk/server.ts';

/** The ranks come to the step that all of them shall save. */
export interface Gathering {
  readonly kind: 'gathering';
  readonly step: number;
  readonly here: Set<Rank>;
  readonly all: Rank[];
  readonly given: AbortController;
}

interface Writing {
  readonly kind: 'writing';
  readonly save: OpenedSave;
  readonly missing: Set<Rank>;
  readonly all: readonly Rank[];
  readonly sinceMs: number;
  readonly written: Written;
}

/** What goes on with the save of a desk; instants are monotonic. */
export type DeskState =
  | { readonly kind: 'idle' }
  | Gathering
  | Writing
  | { readonly kind: 'sealing'; readonly save: OpenedSave; readonly sinceMs: number }
  | { readonly kind: 'tidying'; readonly save: OpenedSave; readonly sinceMs: number };

export const IDLE: DeskState = { kind: 'idle' };

/** Bytes of the save that is being sealed, and when they last grew. */
export interface SealedBytes {
  readonly done: number;
  readonly total: number;
  readonly movedMs: number;
}

/** Since when the ranks write into a folder, or what they wrote is sealed, and how many bytes of it already are; instants are monotonic. */
export type DeskProgress =
  | { readonly kind: 'writing'; readonly sinceMs: number; readonly folder: string }
  | { readonly kind: 'sealing'; readonly sinceMs: number; readonly done: number; readonly total: number };

/** How far the save that goes on has come; null when none does. */
export function progressOf(state: DeskState, { done, total }: SealedBytes): DeskProgress | null {
  if (state.kind === 'sealing') return { kind: 'sealing', sinceMs: state.sinceMs, done, total };
  if (state.kind !== 'writing') return null;
  return { kind: 'writing', sinceMs: state.sinceMs, folder: state.save.image?.data ?? state.save.data };
}

/** A save that waits for the disk while the ranks train on; instants are monotonic. */
export interface DeskWaiting {
  readonly kind: 'sealing' | 'tidying';
  readonly save: string;
  readonly step: number;
  readonly sinceMs: number;
  /** When a byte of it was last seen to move. */
  readonly movedMs: number;
}

/** What waits for the disk; null: nothing does. */
export function waitingOf(state: DeskState, { movedMs }: SealedBytes): DeskWaiting | null {
  if (state.kind !== 'sealing' && state.kind !== 'tidying') return null;
  const { kind, save, sinceMs } = state;
  return { kind, save: save.save, step: save.step, sinceMs, movedMs: Math.max(sinceMs, movedMs) };
}
