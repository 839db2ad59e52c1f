import type { Clock } from '../../core/clock.ts';

/** Something that ends: a set of temporary credentials, an access token. */
export interface Perishable {
  /** Milliseconds since 1970; null when it does not end. */
  readonly expiresAt: number | null;
}

/** Hands out something that ends, and gets a new one in time. */
export interface Fresh<T extends Perishable> {
  get(): Promise<T>;
  /** The store refused it before its time. */
  discard(): void;
}

/** New ones are asked for this long before the old ones end, so that none ends in the middle of a long part. */
const MARGIN_MS = 5 * 60_000;

export function keepFresh<T extends Perishable>(clock: Clock, find: () => Promise<T>): Fresh<T> {
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
      // What was asked for just now is used, however short it lives.
      if (held === null) return renew();
      const asked = held;
      const current = await asked;
      if (current.expiresAt === null || current.expiresAt - clock.now() >= MARGIN_MS) return current;
      // Several may notice at once: the first renews, the rest wait for what it asked for.
      return held === asked || held === null ? renew() : held;
    },
    discard() {
      held = null;
    },
  };
}
