import { formatBytes } from '../core/bytes.ts';
import { formatDuration } from '../core/duration.ts';

/** What is known when the end comes and not everything is shipped. */
export interface LastShipFacts {
  /** Until shipping has to stop; Infinity: nobody presses. */
  readonly leftMs: number;
  /** Measured on this link; null: nothing was shipped yet. */
  readonly bytesPerMs: number | null;
  /** What is being sent, and what of it is missing; null: nothing is. */
  readonly current: { readonly step: number; readonly restBytes: number } | null;
  /** The newest sealed one that is not shipped, and is not {@link current}; null: there is none. */
  readonly newest: { readonly step: number; readonly bytes: number } | null;
}

export interface LastShip {
  /** `switch`: give up what is being sent, for the newest; `stop`: nothing fits. */
  readonly outcome: 'wait' | 'switch' | 'stop';
  readonly sentence: string;
}

/**
 * What is shipped in the time that is left. The newest is worth most; what is half-way there is given up for it only when not both fit. With
 * nothing measured it is tried: a copy that is cut off counts for nobody, and is gone on with by the next one.
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
