import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Clock, VirtualClock } from '../../core/clock.ts';
import { millis } from '../../core/duration.ts';
import { SignalEcho } from './signal-echo.ts';

it('a signal right after the first is its echo, however often; half a second later it is a new one', async () => {
  const clock = new VirtualClock();
  const echo = new SignalEcho(clock);
  expect([echo.note(), echo.note()]).toEqual([false, true]);
  await clock.advance(499);
  expect(echo.note()).toBe(true);
  await clock.advance(1);
  expect([echo.note(), echo.note()]).toEqual([false, false]);
});

it('a signal that arrives while the first is being handled is its echo, however long that takes', async () => {
  let nowMs = 0;
  const clock: Clock = { now: () => millis(nowMs), monotonic: () => millis(nowMs), sleep: () => Promise.resolve() };
  const echo = new SignalEcho(clock);
  echo.note();
  nowMs = 10_000;
  expect(echo.note()).toBe(true);
  await nextTurn();
  expect(echo.note()).toBe(true);
});
