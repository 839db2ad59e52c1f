import { describe, expect, it } from 'vitest';
import { realClock, VirtualClock } from './clock.ts';

describe('VirtualClock', () => {
  it('stands still until it is advanced', async () => {
    const clock = new VirtualClock(1000);
    expect(clock.now()).toBe(1000);
    await clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1250, 250]);
  });

  it('wakes sleepers in the order of their times and lets each run before the next', async () => {
    const clock = new VirtualClock();
    const log: string[] = [];
    const sleeper = async (name: string, ms: number, again: number): Promise<void> => {
      await clock.sleep(ms);
      log.push(`${name} at ${clock.monotonic()}`);
      await clock.sleep(again);
      log.push(`${name} again at ${clock.monotonic()}`);
    };
    const all = Promise.all([sleeper('late', 30, 100), sleeper('early', 10, 10)]);
    await clock.advance(50);
    expect(log).toEqual(['early at 10', 'early again at 20', 'late at 30']);
    expect(clock.waiting).toBe(1);
    await clock.advance(80);
    await all;
    expect(log.at(-1)).toBe('late again at 130');
  });

  it('ends a sleep with the reason of the signal, and forgets it', async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const asleep = clock.sleep(1000, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(asleep).rejects.toThrow('enough');
    expect(clock.waiting).toBe(0);
  });

  it('refuses to sleep when the signal has already ended', async () => {
    await expect(new VirtualClock().sleep(1, { signal: AbortSignal.abort(new Error('over')) })).rejects.toThrow('over');
  });
});

describe('realClock', () => {
  it('ends a sleep with the reason of the signal', async () => {
    const stop = new AbortController();
    const asleep = realClock.sleep(60_000, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(asleep).rejects.toThrow('enough');
  });

  it.each([40 * 86_400_000, Infinity])('sleeps longer than the longest timer of the runtime: %d ms', async (ms) => {
    const stop = new AbortController();
    let isOver = false;
    const asleep = realClock.sleep(ms, { signal: stop.signal }).then(() => (isOver = true));
    await realClock.sleep(20);
    expect(isOver).toBe(false);
    stop.abort(new Error('enough'));
    await expect(asleep).rejects.toThrow('enough');
  });

  it('ends a sleep below zero without a warning', async () => {
    const warnings: Error[] = [];
    const heard = (warning: Error): void => void warnings.push(warning);
    process.on('warning', heard);
    await realClock.sleep(-5);
    // The runtime prints warnings on the next turn.
    await realClock.sleep(0);
    process.off('warning', heard);
    expect(warnings).toEqual([]);
  });

  it('has a monotonic side that does not go back over a sleep', async () => {
    const before = realClock.monotonic();
    await realClock.sleep(1);
    expect(realClock.monotonic()).toBeGreaterThanOrEqual(before);
  });
});
