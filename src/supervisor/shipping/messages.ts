import type { ErrorCode } from '../../core/error-codes.ts';
import type { ShipSettings } from './settings.ts';

/** What the thread that ships is started with. */
export interface ShipWork {
  readonly dir: string;
  readonly ship: ShipSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** To the thread: look whether something newer is sealed; give up what is being sent for it; give it up and end. */
export interface ToShip {
  readonly type: 'look' | 'switch' | 'stop';
  /** Counts up; what is answered carries the newest that was heard before the folder was looked at. */
  readonly id: number;
}

/** From the thread. */
export type FromShip =
  | { readonly type: 'begun'; readonly step: number; readonly bytes: number }
  | { readonly type: 'progress'; readonly done: number }
  | { readonly type: 'shipped'; readonly step: number; readonly bytes: number; readonly sentBytes: number; readonly totalMs: number }
  | {
      readonly type: 'failed';
      readonly step: number | null;
      readonly code: ErrorCode | 'INTERNAL';
      readonly message: string;
      readonly id: number;
    }
  /** Everything that shall be sent is. */
  | { readonly type: 'idle'; readonly id: number };
