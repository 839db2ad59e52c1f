import { describe, expect, it } from 'vitest';
import { activeDeadlineMs } from './active-deadline.ts';
import { type CleanPodPolicy, isCleanedUp } from './clean-pods.ts';
import { isPastRestarts } from './in-place-restarts.ts';
import { gangRestartAtMs, type JobShape, restartModeOf } from './restart-mode.ts';
import { expiryMs } from './time-to-live.ts';

const SHAPE: JobShape = { isElastic: false, hasDynamicWorkers: false, hasParameterServers: false, chosen: null };

describe('what restarts when a pod is lost', () => {
  it.each<[string, Partial<JobShape>, 'gang' | 'replica']>([
    ['a master and workers', {}, 'gang'],
    ['an elastic job', { isElastic: true }, 'replica'],
    ['dynamic workers', { hasDynamicWorkers: true }, 'replica'],
    ['parameter servers', { hasParameterServers: true }, 'replica'],
    ['an elastic job whose user wants the gang', { isElastic: true, chosen: 'gang' }, 'gang'],
    ['a gang whose user wants the replica', { chosen: 'replica' }, 'replica'],
  ])('of %s', (_, shape, mode) => {
    expect(restartModeOf({ ...SHAPE, ...shape })).toBe(mode);
  });

  const LOST = { lostRendezvousHost: false, lostMs: 1000, lastStepMs: 900, nowMs: 5000 };

  it.each([
    ['at once after the rendezvous host is lost', { lostRendezvousHost: true }, 5000],
    ['120 s after the loss while no step follows', {}, 121_000],
    ['never once a step follows', { lastStepMs: 1001 }, null],
    ['never while no step was ever reported', { lastStepMs: null }, null],
    ['never while nothing is lost', { lostMs: null }, null],
  ])('is the gang %s', (_, facts, atMs) => {
    expect(gangRestartAtMs({ ...LOST, ...facts })).toBe(atMs);
  });
});

describe('the limits of a job', () => {
  it('count the active deadline from the start, to the second', () => {
    expect(activeDeadlineMs(1000, 60)).toBe(61_000);
    expect(activeDeadlineMs(null, 60)).toBeNull();
    expect(activeDeadlineMs(1000, null)).toBeNull();
  });

  it('count the time to live from the completion, and never of a suspended job', () => {
    expect(expiryMs({ completedMs: 1000, seconds: 0, isSuspended: false })).toBe(1000);
    expect(expiryMs({ completedMs: 1000, seconds: 5, isSuspended: true })).toBeNull();
    expect(expiryMs({ completedMs: null, seconds: 5, isSuspended: false })).toBeNull();
  });

  it('count restarts in place as v1 does: up to the limit, and none under a limit of 0', () => {
    expect([0, 1, 2, 3].map((restarts) => isPastRestarts(restarts, 2))).toEqual([false, false, true, true]);
    expect([0, 1].map((restarts) => isPastRestarts(restarts, 0))).toEqual([false, true]);
    expect(isPastRestarts(1000, null)).toBe(false);
  });

  it.each<[CleanPodPolicy, string, boolean]>([
    ['None', 'Running', false],
    ['Running', 'Running', true],
    ['Running', 'Pending', true],
    ['Running', 'Failed', false],
    ['All', 'Succeeded', true],
  ])('clean up under %s a pod that is %s: %s', (policy, phase, isGone) => {
    expect(isCleanedUp(policy, phase)).toBe(isGone);
  });
});
