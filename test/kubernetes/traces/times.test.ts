import { expect, it } from 'vitest';
import type { KubeObject } from '../cluster/api.ts';
import { timeTold } from './times.ts';

const NOON = Date.parse('2026-11-16T12:00:00Z') / 1000;
const pod = (metadata: object, ...ended: readonly (string | null)[]): KubeObject => ({
  metadata: { name: 'one', uid: 'one', ...metadata },
  status: { containerStatuses: ended.map((finishedAt) => ({ state: { terminated: { finishedAt } } })) },
});

it('an object says when it was made, when it was told to end, and when its container ended', () => {
  expect(timeTold(pod({ creationTimestamp: '2026-11-16T12:00:00Z' }), 'phase Pending')).toBe(NOON);
  expect(timeTold(pod({ deletionTimestamp: '2026-11-16T12:00:30Z', deletionGracePeriodSeconds: 30 }), 'terminating')).toBe(NOON);
  expect(timeTold(pod({}, '2026-11-16T12:00:00Z'), 'exit 7 Error')).toBe(NOON);
});

it('what it does not say is not made up', () => {
  expect(timeTold(pod({ creationTimestamp: '2026-11-16T12:00:00Z' }), 'phase Running')).toBeUndefined();
  expect(timeTold(pod({}), 'terminating')).toBeUndefined();
  expect(timeTold(pod({}, null), 'exit 137 ContainerStatusUnknown')).toBeUndefined();
  expect(timeTold(pod({}, '2026-11-16T12:00:00Z', '2026-11-16T12:00:09Z'), 'exit 7 Error')).toBeUndefined();
});

it('a Job says when it began, and either of them when a condition came', () => {
  const conditions = [
    { type: 'Failed', lastTransitionTime: '2026-11-16T12:00:09Z' },
    { type: 'FailureTarget', lastTransitionTime: '2026-11-16T12:00:08Z' },
  ];
  const job = { metadata: { name: 'one', uid: 'one' }, status: { startTime: '2026-11-16T12:00:00Z', conditions } };
  expect(timeTold(job, 'active 1')).toBe(NOON);
  expect(timeTold(job, 'condition FailureTarget')).toBe(NOON + 8);
  expect(timeTold(job, 'condition FailureTarget/DeadlineExceeded')).toBe(NOON + 8);
  expect(timeTold(job, 'condition Complete')).toBeUndefined();
  expect(timeTold({ metadata: job.metadata }, 'active 1')).toBeUndefined();
});
