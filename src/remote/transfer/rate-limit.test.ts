import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { limitRate } from './rate-limit.ts';

const MIB = 1024 * 1024;

describe('limitRate', () => {
  it('lets the bytes of one second pass in one second, over all transfers', async () => {
    const clock = new VirtualClock();
    const limit = limitRate(8 * MIB, clock);
    const { signal } = new AbortController();
    let sent = 0;
    const sender = async (): Promise<void> => {
      for (let i = 0; i < 1000; i++) {
        await limit.take(limit.chunkBytes, signal);
        sent += limit.chunkBytes;
      }
    };
    const all = Promise.allSettled([sender(), sender(), sender()]);
    await clock.advance(10_000);
    expect(sent / MIB).toBeGreaterThan(79);
    expect(sent / MIB).toBeLessThan(83);
    await clock.advance(1_000_000);
    await all;
  });

  it.each([
    [16 * 1024, 1],
    [64 * 1024, 1],
    [512 * 1024, 8],
    [MIB, 16],
  ])('allows, at %i bytes a second, %i transfers at most, so that each one stays fast enough', (rate, most) => {
    expect(limitRate(rate, new VirtualClock()).mostTransfers).toBe(most);
  });

  it('ends a wait when the signal aborts', async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const wait = limitRate(1000, clock).take(1_000_000, stop.signal);
    stop.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
  });
});
