import { expect, it } from 'vitest';
import { fateOf, hasChanged, LONGEST_MS, QUIET_MS, type Seen, type SeenPod, storyOf } from './fate.ts';

const POD: SeenPod = { uid: 'a', phase: 'Running', isTerminating: false, restarts: 0 };
const OTHER: SeenPod = { ...POD, uid: 'b' };
const NOW = 1_000_000;
const BEFORE: Seen = { ms: 0, conditions: ['Running'], pods: { master: POD, worker: POD }, steppedMs: { master: 0, worker: 0 } };
const BUSY = { quietMs: 0, sinceMs: 0 };
const QUIET = { quietMs: QUIET_MS, sinceMs: QUIET_MS };

function seen(master: SeenPod | null, worker: SeenPod | null, more: Partial<Seen> = {}): Seen {
  return { ...BEFORE, ms: NOW, pods: { master, worker }, ...more };
}
const STEPPING = { steppedMs: { master: NOW - 400, worker: NOW - 100 } };

it.each([
  ['trains again', 'both trainers are new and step', seen({ ...POD, restarts: 2 }, OTHER, STEPPING), BUSY],
  [null, 'the replaced worker waits for the old master', seen(POD, OTHER, { steppedMs: { master: NOW - 60_000, worker: null } }), BUSY],
  ['hangs', 'nothing has changed for long, and nobody steps', seen(POD, OTHER), QUIET],
  ['hangs', 'one of two steps alone', seen(POD, OTHER, { steppedMs: { master: NOW, worker: 0 } }), QUIET],
  ['trains on', 'nothing has changed for long, and both step', seen(POD, POD, STEPPING), QUIET],
  ['looks finished', 'the job has succeeded', seen(POD, null, { conditions: ['Succeeded'] }), BUSY],
  ['fails', 'the job has failed', seen(POD, null, { conditions: ['Failed'] }), BUSY],
  ['restarts again and again', 'it never comes to rest', seen(POD, OTHER), { quietMs: 0, sinceMs: LONGEST_MS }],
] as const)('a gang %s when %s', (fate, _, now, times) => {
  expect(fateOf(BEFORE, now, times)).toBe(fate);
});

it('steps alone are no change', () => {
  expect(hasChanged(BEFORE, seen(POD, POD, STEPPING))).toBe(false);
  expect(hasChanged(BEFORE, seen(POD, { ...POD, isTerminating: true }))).toBe(true);
});

it.each([
  ['untouched', POD, POD],
  ['gone', POD, null],
  ['replaced', POD, OTHER],
  ['restarted in place once', POD, { ...POD, restarts: 1 }],
  ['replaced, restarted in place 2 times, Pending', POD, { ...OTHER, restarts: 2, phase: 'Pending' }],
  ['is terminating', POD, { ...POD, isTerminating: true }],
] as const)('a pod is %s', (story, before, now) => {
  expect(storyOf(before, now)).toBe(story);
});
