import type { OpenSave } from './open-save.ts';
import type { Written } from './save-timings.ts';
import type { Rank } from '../sdk/sdk-server.ts';

/** The ranks are reaching the step that all of them save. */
export interface Gathering {
  readonly kind: 'gathering';
  readonly step: number;
  readonly here: Set<Rank>;
  readonly all: Rank[];
  readonly given: AbortController;
}

interface Writing {
  readonly kind: 'writing';
  readonly save: OpenSave;
  readonly missing: Set<Rank>;
  readonly all: readonly Rank[];
  readonly sinceMs: number;
  readonly written: Written;
}

/** The state of a coordinator's current save; instants are monotonic. */
export type SaveState =
  | { readonly kind: 'idle' }
  | Gathering
  | Writing
  | { readonly kind: 'sealing'; readonly save: OpenSave; readonly sinceMs: number }
  | { readonly kind: 'tidying'; readonly save: OpenSave; readonly sinceMs: number };

/** The state in which no save goes on. */
export const IDLE: SaveState = { kind: 'idle' };

/** How many bytes of the save are sealed so far, and when that number last grew. */
export interface SealedBytes {
  readonly done: number;
  readonly total: number;
  readonly movedMs: number;
}

/**
 * The progress of a save that is being written or sealed: since when, and how many bytes are
 * sealed. Instants are monotonic.
 */
export type SaveProgress =
  | { readonly kind: 'writing'; readonly sinceMs: number; readonly folder: string }
  | { readonly kind: 'sealing'; readonly sinceMs: number; readonly done: number; readonly total: number };

/** The progress of the current save; null when there is none. */
export function progressOf(state: SaveState, { done, total }: SealedBytes): SaveProgress | null {
  if (state.kind === 'sealing') return { kind: 'sealing', sinceMs: state.sinceMs, done, total };
  if (state.kind !== 'writing') return null;
  return { kind: 'writing', sinceMs: state.sinceMs, folder: state.save.writesTo };
}

/** A save that waits for the disk while the ranks train on; instants are monotonic. */
export interface SaveWaiting {
  readonly kind: 'sealing' | 'tidying';
  readonly save: string;
  readonly step: number;
  readonly sinceMs: number;
  /** When its byte count last grew. */
  readonly movedMs: number;
}

/** The save that waits for the disk; null: there is none. */
export function waitingOf(state: SaveState, { movedMs }: SealedBytes): SaveWaiting | null {
  if (state.kind !== 'sealing' && state.kind !== 'tidying') return null;
  const { kind, save, sinceMs } = state;
  return { kind, save: save.save, step: save.step, sinceMs, movedMs: Math.max(sinceMs, movedMs) };
}
