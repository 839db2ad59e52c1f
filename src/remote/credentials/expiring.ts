import type { Clock } from '../../core/clock.ts';

/** Anything that expires: temporary credentials, an access token. */
export interface Expires {
  /** Milliseconds since 1970; null when it does not expire. */
  readonly expiresAt: number | null;
}

/** Holds something that expires and renews it in time. */
export interface Expiring<T extends Expires> {
  get(): Promise<T>;
  /** Drops the current one after the store refused it early. */
  discard(): void;
}

/**
 * How long before the expiry it is renewed, so that it never expires in the middle of a large part.
 */
const MARGIN_MS = 5 * 60_000;

/** Keeps what `find` returns and calls `find` again before it expires. */
export function keepUnexpired<T extends Expires>(clock: Clock, find: () => Promise<T>): Expiring<T> {
  let held: Promise<T> | null = null;
  const renew = (): Promise<T> => {
    const next = find();
    held = next;
    next.catch(() => {
      if (held === next) held = null;
    });
    return next;
  };
  return {
    async get() {
      // A fresh one is used, however short its life.
      if (held === null) return renew();
      const asked = held;
      const current = await asked;
      if (current.expiresAt === null || current.expiresAt - clock.now() >= MARGIN_MS) return current;
      // Several callers may notice at once. The first one renews, and the rest wait for its result.
      return held === asked || held === null ? renew() : held;
    },
    discard() {
      held = null;
    },
  };
}
