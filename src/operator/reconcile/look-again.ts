import { isMakingRoom, type RunRecord } from '../training-run/record.ts';

/** How soon a gang is looked at again that saves or leaves, and one that waits to come back. */
const ROOM_STEP_MS = 1000;
const ROOM_WAIT_MS = 5000;

/** When a gang is looked at again that makes room; null: it makes none. */
export function roomStepMs(record: RunRecord, nowMs: number): number | null {
  if (!isMakingRoom(record)) return null;
  return nowMs + (record.room?.stage === 'away' ? ROOM_WAIT_MS : ROOM_STEP_MS);
}

/** The earliest of some times; null: there is none. */
export function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((ms) => ms !== null);
  return known.length === 0 ? null : Math.min(...known);
}
