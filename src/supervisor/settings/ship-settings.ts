import type { ObjectStore, UploadMemory } from '../../remote/backends/backend.ts';
import type { Location } from '../../remote/backends/location.ts';
import { openStore } from '../../remote/backends/open-store.ts';
import { limitRate, type RateLimit, UNLIMITED } from '../../remote/transfer/rate-limit.ts';
import type { OnRetry, RetryPolicy } from '../../remote/transfer/retry.ts';
import type { Clock } from '../../core/clock.ts';
import { createRng, randomSeed } from '../../core/rng.ts';

/** Where the copies of a run go, and how fast at most. */
export interface ShipSettings {
  readonly location: Location;
  /** Bytes per second; null: no limit. */
  readonly limit: number | null;
  /** How long a start waits for a store that does not answer; ten minutes by default. */
  readonly patienceMs?: number;
}

/** Transfers at a time: enough to fill a link, few enough to leave room for the trainer's own. */
export const PARALLEL = 4;

interface RemoteWorld {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly memory: UploadMemory;
  readonly retries?: RetryPolicy;
  readonly onRetry?: OnRetry;
}

/** Opens the store that the copies of a run go to. */
export function openShipStore({ location }: ShipSettings, { retries, ...world }: RemoteWorld): ObjectStore {
  return openStore(location, { ...world, rng: createRng(randomSeed()), ...(retries === undefined ? {} : { retries }) });
}

/** The limit on the speed of all transfers of a run together. */
export function shipLimit({ limit }: ShipSettings, clock: Clock): RateLimit {
  return limit === null ? UNLIMITED : limitRate(limit, clock);
}
