import type { ObjectStore, UploadMemory } from '../../checkpoint/ship/backend.ts';
import type { Location } from '../../checkpoint/ship/location.ts';
import { openStore } from '../../checkpoint/ship/open-store.ts';
import { limitRate, type RateLimit, UNLIMITED } from '../../checkpoint/ship/rate-limit.ts';
import type { OnRetry, RetryPolicy } from '../../checkpoint/ship/retry.ts';
import type { Clock } from '../../core/clock.ts';
import { createRng, randomSeed } from '../../core/rng.ts';

/** Where the copies of a run go, and how fast at most. */
export interface ShipSettings {
  readonly location: Location;
  /** Bytes a second; null: as fast as it goes. */
  readonly limit: number | null;
}

/** Transfers at a time: enough to fill a link, few enough to leave room beside the trainer's own. */
export const PARALLEL = 4;

interface RemoteWorld {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly memory: UploadMemory;
  readonly retries?: RetryPolicy;
  readonly onRetry?: OnRetry;
}

export function openShipStore({ location }: ShipSettings, { retries, ...world }: RemoteWorld): ObjectStore {
  return openStore(location, { ...world, rng: createRng(randomSeed()), ...(retries === undefined ? {} : { retries }) });
}

export function shipLimit({ limit }: ShipSettings, clock: Clock): RateLimit {
  return limit === null ? UNLIMITED : limitRate(limit, clock);
}
