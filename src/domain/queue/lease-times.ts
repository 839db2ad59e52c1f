/** The times of a lease, all in milliseconds. */
export interface LeaseTimes {
  /** A lease ends this long after its last renewal. */
  readonly leaseMs: number;
  /** The interval of renewals by a worker. Two may be lost. */
  readonly renewMs: number;
  /**
   * The time that a worker with a dropped connection has to reconnect before its leases are freed.
   */
  readonly reconnectMs: number;
}

/** The shortest lease; a shorter one would end during an ordinary garbage collection. */
export const SHORTEST_LEASE_MS = 1000;
/** The longest lease that an operator can set. */
export const LONGEST_LEASE_MS = 60 * 60_000;
const RECONNECT_MS = 5000;

/** The times that follow from the length of a lease. */
export function leaseTimes(leaseMs: number): LeaseTimes {
  return { leaseMs, renewMs: Math.floor(leaseMs / 3), reconnectMs: Math.min(RECONNECT_MS, Math.floor(leaseMs / 2)) };
}

/** The interval at which a server checks its leases. */
export const BEAT_MS = 1000;
/** The longest gap between two checks that a busy machine explains. */
const USUAL_GAP_MS = 3 * BEAT_MS;

/** The change to lease ends after a gap in which no server checked them. */
export interface DowntimeShift {
  /** Added to the end of every lease. */
  readonly addMs: number;
  /** The latest end of any lease. */
  readonly latest: number;
}

/**
 * The effect of a gap between two checks on leases. Workers could not renew in the gap, so their
 * leases get that time back. A clock jump looks the same in both directions, so no lease ends later
 * than a fresh one would.
 */
export function downtimeShift(lastLook: number | null, now: number, leaseMs: number): DowntimeShift | null {
  if (lastLook === null) return null;
  const gap = now - lastLook;
  if (gap >= 0 && gap <= USUAL_GAP_MS) return null;
  return { addMs: Math.max(0, gap), latest: now + leaseMs };
}
