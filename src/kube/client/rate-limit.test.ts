import { expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { RateLimit } from './rate-limit.ts';

it('lets a burst through at once, then requests at the rate, in their order', async () => {
  const clock = new VirtualClock();
  const limit = new RateLimit({ perSecond: 10, burst: 3 }, clock);
  const { signal } = new AbortController();
  const times: number[] = [];
  for (let i = 0; i < 6; i++) void limit.turn({ signal }).then(() => times.push(clock.monotonic()));
  await clock.advance(1000);
  expect(times).toEqual([0, 0, 0, 100, 200, 300]);
  await clock.advance(1000);
  for (let i = 0; i < 4; i++) void limit.turn({ signal }).then(() => times.push(clock.monotonic()));
  await clock.advance(1000);
  expect(times.slice(6)).toEqual([2000, 2000, 2000, 2100]);
});
