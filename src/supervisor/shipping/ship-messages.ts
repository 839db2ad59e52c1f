import type { ErrorCode } from '../../core/error-codes.ts';
import type { ShipSettings } from '../settings/ship-settings.ts';

/** The start data of the thread that ships. */
export interface ShipWork {
  readonly dir: string;
  readonly ship: ShipSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * A message to the thread: look for a newer checkpoint, drop the current upload for it, name the
 * newest checkpoint that is not shipped, or drop the upload and end.
 */
export interface ToShip {
  readonly type: 'look' | 'switch' | 'missing' | 'stop';
  /**
   * Counts up. An answer carries the newest id that the thread had read before it scanned the
   * folder.
   */
  readonly id: number;
}

/** A sealed checkpoint that has no copy yet. */
export interface Unshipped {
  readonly step: number;
  readonly bytes: number;
}

/** A message from the thread. */
export type FromShip =
  | { readonly type: 'begun'; readonly step: number; readonly bytes: number }
  | { readonly type: 'progress'; readonly done: number }
  | {
      readonly type: 'shipped';
      readonly step: number;
      readonly bytes: number;
      readonly sentBytes: number;
      readonly totalMs: number;
      readonly isPointed: boolean;
    }
  | {
      readonly type: 'failed';
      readonly step: number | null;
      readonly code: ErrorCode | 'INTERNAL';
      readonly message: string;
      readonly id: number;
    }
  /** The newest checkpoint that is not shipped; null: there is none. */
  | { readonly type: 'missing'; readonly newest: Unshipped | null; readonly id: number }
  /** Everything that should be shipped is. */
  | { readonly type: 'idle'; readonly id: number };
