import type { Clock } from '../../core/clock.ts';

/** A slower link counts as dead. */
const SLOWEST_BYTES_PER_SECOND = 512;

/** The progress of an answer. */
export interface Arrived {
  readonly bytes: number;
  /** Whether the reader is still busy, so that a pause is not the link's fault. */
  readonly isHeld: boolean;
}

/** When an answer counts as dripping. */
export interface DripOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves when an answer only drips: two periods in a row brought almost nothing. Single bytes
 * reset every idle timer and could hold a request for hours. Rejects when the signal aborts.
 */
export async function untilDrips({ clock, idleMs, signal }: DripOptions, look: () => Arrived): Promise<void> {
  const least = (idleMs / 1000) * SLOWEST_BYTES_PER_SECOND;
  let before = look().bytes;
  for (let slow = 0; slow < 2; ) {
    await clock.sleep(idleMs, { signal });
    const { bytes, isHeld } = look();
    slow = isHeld || bytes - before >= least ? 0 : slow + 1;
    before = bytes;
  }
}
