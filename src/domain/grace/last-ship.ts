import { formatBytes } from '../../core/bytes.ts';
import { formatDuration } from '../../core/duration.ts';

/** The state of shipping when the attempt ends and copies are still missing. */
export interface LastShipFacts {
  /** The instant at which shipping must stop; Infinity: no deadline. */
  readonly leftMs: number;
  /** The speed of this link; null: nothing was shipped yet. */
  readonly bytesPerMs: number | null;
  /** The checkpoint being sent and its missing bytes; null: none. */
  readonly current: { readonly step: number; readonly restBytes: number } | null;
  /**
   * The newest sealed checkpoint that is not shipped and is not {@link current}; null: there is
   * none.
   */
  readonly newest: { readonly step: number; readonly bytes: number } | null;
}

/** What to ship in the remaining time. */
export interface LastShip {
  /** `switch`: abandon the current transfer for the newest checkpoint; `stop`: nothing fits. */
  readonly outcome: 'wait' | 'switch' | 'stop';
  readonly sentence: string;
}

/**
 * Decides what to ship in the remaining time. The newest checkpoint is worth most; the running
 * transfer is abandoned for it only when both do not fit. Without a measured speed the transfer is
 * tried. An incomplete copy is never used, and the next attempt resumes its upload.
 */
export function decideLastShip({ leftMs, bytesPerMs, current, newest }: LastShipFacts): LastShip {
  const needMs = (bytes: number): number => (bytesPerMs === null ? 0 : bytes / bytesPerMs);
  const rest = current === null ? null : { step: current.step, bytes: current.restBytes };
  const [restMs, newestMs] = [rest, newest].map((one) => (one === null ? 0 : needMs(one.bytes))) as [number, number];
  const within = leftMs === Infinity ? 'before the end' : timeLeft(leftMs);
  if (restMs + newestMs <= leftMs) return { outcome: 'wait', sentence: `${named(rest, newest)} shipped ${within}` };
  if (rest !== null && newest !== null && newestMs <= leftMs) {
    return { outcome: 'switch', sentence: `${named(newest)} shipped ${within}; step ${rest.step} is given up for it` };
  }
  if (rest !== null && restMs <= leftMs) return { outcome: 'wait', sentence: `${named(rest)} shipped ${within}` };
  const size = formatBytes((newest ?? rest)?.bytes ?? 0);
  const need = formatDuration(newest === null ? restMs : newestMs);
  return { outcome: 'stop', sentence: `${named(rest, newest)} not shipped: ${size} take ${need}, and do not fit ${within}` };
}

function timeLeft(leftMs: number): string {
  return `in the ${formatDuration(Math.max(0, leftMs))} that are left`;
}

function named(...all: readonly ({ readonly step: number } | null)[]): string {
  const steps = all.flatMap((one) => (one === null ? [] : [String(one.step)]));
  return steps.length === 1 ? `step ${steps[0]} is` : `steps ${steps.join(' and ')} are`;
}
