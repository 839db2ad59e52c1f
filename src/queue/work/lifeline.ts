import type { Clock } from '../../core/clock.ts';
import type { LeaseRef, Session } from '../backend.ts';
import type { QueueClient } from '../client/client.ts';

/** The parts that keep a worker’s leases. */
export interface LifelineOptions {
  readonly client: QueueClient;
  readonly session: Session;
  readonly clock: Clock;
  /** The current leases of the worker. */
  readonly held: () => readonly LeaseRef[];
  /** Called with leases that another worker holds now. */
  readonly onLost: (lost: readonly LeaseRef[]) => void;
}

/** Until the server has said how often; a third of the shortest lease. */
const FIRST_RENEW_MS = 300;
const RECONNECT_MS = 500;

/**
 * Keeps the worker’s leases until the signal is aborted, through an open connection and renewals.
 */
export async function keepAlive(options: LifelineOptions, signal: AbortSignal): Promise<void> {
  const pace = { renewMs: FIRST_RENEW_MS };
  await Promise.all([holdConnection(options, pace, signal), renewLeases(options, pace, signal)]);
}

/** How often the leases are renewed, as the server said last. */
interface Pace {
  renewMs: number;
}

async function holdConnection({ client, session, clock }: LifelineOptions, pace: Pace, signal: AbortSignal): Promise<void> {
  const query = new URLSearchParams({ node: session.node, process: session.process });
  while (!signal.aborted) {
    try {
      for await (const { renewMs } of client.session(`/v1/sessions/${encodeURIComponent(session.id)}?${query.toString()}`, signal)) {
        if (signal.aborted) return;
        if (typeof renewMs === 'number' && renewMs > 0) pace.renewMs = renewMs;
      }
    } catch {
      // The leases keep running, and the worker tries to reconnect.
    }
    await clock.sleep(RECONNECT_MS, { signal }).catch(() => {});
  }
}

async function renewLeases({ client, session, clock, held, onLost }: LifelineOptions, pace: Pace, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(pace.renewMs, { signal }).catch(() => {});
    const leases = held().map(({ item, token }) => ({ item, token }));
    if (leases.length === 0 || signal.aborted) continue;
    try {
      const { lost } = await client.json<{ lost: LeaseRef[] }>('POST', '/v1/renew', { body: { session: session.id, leases }, signal });
      if (lost.length > 0) onLost(lost);
    } catch {
      // Retried after a moment, for at least as long as the leases last.
    }
  }
}
