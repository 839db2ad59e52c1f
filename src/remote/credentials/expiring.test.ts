import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { keepUnexpired } from './expiring.ts';

describe('keepUnexpired', () => {
  it('renews shortly before the expiry, once for all callers', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const fresh = keepUnexpired(clock, async () => ({ id: ++asked, expiresAt: clock.now() + 3_600_000 }));
    expect((await Promise.all([fresh.get(), fresh.get()])).map(({ id }) => id)).toEqual([1, 1]);
    await clock.advance(54 * 60_000);
    expect((await fresh.get()).id).toBe(1);
    await clock.advance(2 * 60_000);
    expect((await Promise.all([fresh.get(), fresh.get(), fresh.get()])).map(({ id }) => id)).toEqual([2, 2, 2]);
  });

  it('renews after a failure, and after the store refused the current one', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const fresh = keepUnexpired(clock, async () => {
      if (++asked === 1) throw new Error('not now');
      return { id: asked, expiresAt: null };
    });
    await expect(fresh.get()).rejects.toThrow('not now');
    expect((await fresh.get()).id).toBe(2);
    fresh.discard();
    expect((await fresh.get()).id).toBe(3);
  });
});
