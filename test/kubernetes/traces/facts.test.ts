import { expect, it } from 'vitest';
import { type Change, Roles, factsOf, growing, highestCounts, isLasting } from './facts.ts';

const change = (kind: string, uid: string, rest: Partial<Change['object']> = {}): Change => ({
  type: 'MODIFIED',
  kind,
  object: { ...rest, metadata: { name: `name-of-${uid}`, uid, ...rest.metadata } },
  revision: 7,
  seconds: 1,
});
const texts = (changes: readonly Change[]): readonly string[] => {
  const roles = new Roles();
  return changes.flatMap((each) => factsOf(each, roles)).map(({ text }) => text);
};

it('objects are named by kind and order, so that the names are the same in every play; pods of an indexed Job by index and order', () => {
  const roles = new Roles();
  const indexed = (uid: string, index: string): string =>
    roles.roleOf(
      'Pod',
      change('Pod', uid, { metadata: { name: uid, uid, labels: { 'batch.kubernetes.io/job-completion-index': index } } }).object,
    );
  expect([roles.roleOf('Pod', change('Pod', 'x').object), roles.roleOf('Pod', change('Pod', 'y').object)]).toEqual(['pod 1', 'pod 2']);
  expect(roles.roleOf('Pod', change('Pod', 'x').object)).toBe('pod 1');
  expect([indexed('a', '2'), indexed('b', '0'), indexed('c', '2')]).toEqual(['pod 2.1', 'pod 0.1', 'pod 2.2']);
  expect(roles.objectOf('pod 2').metadata.name).toBe('name-of-y');
  expect(() => roles.objectOf('pod 3')).toThrow('there is no pod 3');
});

it('a pod tells its phase, its reason, that it is ready, its disruption, and how its container ended', () => {
  const status = {
    phase: 'Failed',
    reason: 'Evicted',
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' },
    ],
    containerStatuses: [{ restartCount: 2, state: { terminated: { exitCode: 137, reason: 'Error' } } }],
  };
  expect(texts([change('Pod', 'x', { status })])).toEqual([
    'pod 1: phase Failed',
    'pod 1: reason Evicted',
    'pod 1: ready',
    'pod 1: condition DisruptionTarget',
    'pod 1: condition DisruptionTarget/TerminationByKubelet',
    'pod 1: exit 137 Error',
    'pod 1: restarted 2',
  ]);
});

it('a Job tells its conditions, its counters and its indexes; an event is told by its object’s kind and its reason', () => {
  const status = { active: 0, failed: 1, failedIndexes: '1', conditions: [{ type: 'Failed', status: 'True', reason: 'FailedIndexes' }] };
  const event = { reason: 'Killing', involvedObject: { kind: 'Pod', name: 'x' } };
  expect(texts([change('Job', 'j', { status }), change('Event', 'e', event)])).toEqual([
    'job 1: condition Failed',
    'job 1: condition Failed/FailedIndexes',
    'job 1: failed 1',
    'job 1: failedIndexes 1',
    'event Pod Killing',
  ]);
});

it('a pod tells that a node is promised to it; a node whether it is ready, what it is short of, and what keeps pods off it', () => {
  const node = {
    spec: { unschedulable: true, taints: [{ key: 'spot', effect: 'NoExecute' }] },
    status: {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'DiskPressure', status: 'True' },
        { type: 'PIDPressure', status: 'False' },
      ],
    },
  };
  expect(texts([change('Pod', 'x', { status: { nominatedNodeName: 'node-1' } }), change('Node', 'n', node)])).toEqual([
    'pod 1: nominated',
    'node 1: ready',
    'node 1: unschedulable',
    'node 1: pressure DiskPressure',
    'node 1: taint spot:NoExecute',
  ]);
});

it('names that a controller has made up are told apart from those that somebody gave', () => {
  const roles = new Roles();
  for (const name of ['job', 'job-x7k2p', 'cron-29384756', 'by-hand']) roles.roleOf('Pod', { metadata: { name, uid: name } });
  expect(roles.madeUp).toEqual([
    ['job-x7k2p', 'pod 2'],
    ['cron-29384756', 'pod 3'],
  ]);
});

it.each([
  ['pod 1: exit 0 Completed', true],
  ['kubectl 01 ends with 0: get pods', true],
  ['node 1: gone', false],
  ['job 1: condition Complete/CompletionsReached', true],
  ['pod 2.1: gone', true],
  ['pod 1: reason Evicted', true],
  ['pod 1: phase Running', false],
  ['job 1: active 1', false],
  ['job 1: terminating 1', false],
  ['event Pod Killing', false],
])('%s lasts: %s', (text, expected) => {
  expect(isLasting(text)).toBe(expected);
});

it('what failed, succeeded and was restarted is counted, and only grows', () => {
  expect(growing('job 1: failed 12')).toEqual({ counter: 'job 1: failed', count: 12 });
  expect(['job 1: active 1', 'job 1: failedIndexes 1', 'pod 1: phase Failed', 'kubectl 01 says: failed x'].map(growing)).toEqual([
    null,
    null,
    null,
    null,
  ]);
  expect(highestCounts(['job 1: failed 2', 'job 1: failed 10', 'job 1: failed 9', 'pod 1: restarted 1', 'pod 1: gone'])).toEqual(
    new Map([
      ['job 1: failed', 10],
      ['pod 1: restarted', 1],
    ]),
  );
});
