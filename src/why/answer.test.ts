import { describe, expect, it } from 'vitest';
import { disruption, ended, node, objects, pod } from '../../test/support/cluster-objects.ts';
import { renderTerminationMessage, type TerminationMessage } from '../domain/exit/termination-message.ts';
import { ClusterState } from '../kube/objects/cluster-state.ts';
import type { Answer } from './answer.ts';
import { answersOf, NO_LEDGER } from './subjects.ts';

const BEFORE = '2026-11-18T07:00:00Z';
const AFTER = '2026-11-18T09:30:00Z';

const FINISHED: TerminationMessage = {
  provisional: false,
  run: 'gpt2',
  attempt: 1,
  node: 'node-1',
  atMs: Date.UTC(2026, 10, 18, 9),
  cause: null,
  deadlineMs: null,
  exitCode: 0,
  end: 'finished',
  trainer: { code: 0 },
  step: 10,
  lastGoodStep: 10,
  flush: null,
  lostMs: 0,
  lostSteps: 0,
  accelerators: 1,
  sentence: 'the run is finished',
};

function answerTo(...values: readonly unknown[]): Answer {
  const state = new ClusterState(objects(...values));
  const [answer] = answersOf(state.pods, state, { ledger: NO_LEDGER, attempts: [] });
  if (answer === undefined) throw new Error('there is no pod');
  return answer;
}

describe('an exit code of 0 without events', () => {
  const done = pod({ phase: 'Succeeded', containerStatuses: [ended(0)] });

  it('counts as finished if the node was healthy since before the start', () => {
    expect(answerTo(done, node(BEFORE)).judgement).toMatchObject({ cause: 'FINISHED', confidence: 'likely' });
  });

  it.each([
    ['the node is not among the objects', []],
    ['the node became ready after the start', [node(AFTER)]],
    [
      'the node still has the taint of a shutdown',
      [node(BEFORE, { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] })],
    ],
    [
      'a critical pod came to the node',
      [
        node(BEFORE),
        {
          kind: 'Pod',
          metadata: { name: 'a-critical-pod', namespace: 'kube-system' },
          spec: { nodeName: 'node-1', priority: 2_000_001_000 },
          status: { phase: 'Running', startTime: '2026-11-18T08:59:00Z' },
        },
      ],
    ],
  ])('cannot be distinguished from an interruption when %s, and its loss is unknown', (_, others) => {
    const { judgement, loss } = answerTo(done, ...others);
    expect(judgement).toMatchObject({
      cause: 'CANNOT_TELL',
      candidates: expect.arrayContaining(['FINISHED', 'MACHINE_SHUTDOWN']) as unknown,
    });
    expect(loss).toBeNull();
  });

  it('counts as finished if the supervisor’s termination message reports that, whatever the node shows', () => {
    const message = renderTerminationMessage(FINISHED);
    const told = pod({ phase: 'Succeeded', containerStatuses: [ended(0, { message })] });
    expect(answerTo(told, node(AFTER)).judgement).toMatchObject({ cause: 'FINISHED', confidence: 'certain' });
  });

  it.each([
    ['provisional', { provisional: true, end: null }],
    ['of an interruption', { end: 'interrupted' }],
    ['of a trainer that was killed', { end: 'killed' }],
  ])('does not count as finished if the termination message is %s', (_, more) => {
    const message = renderTerminationMessage({ ...FINISHED, ...more, sentence: 'told to end' });
    const { judgement } = answerTo(pod({ phase: 'Succeeded', containerStatuses: [ended(0, { message })] }), node(BEFORE));
    expect(judgement.cause).toBe('CANNOT_TELL');
    expect(judgement.candidates).not.toContain('FINISHED');
    expect(judgement.evidence[0]).toBe('the termination message of the supervisor: told to end');
  });

  it('is not proven to be a finish by an event that is younger than the end', () => {
    const late = {
      kind: 'Event',
      metadata: { name: 'e', namespace: 'ml', creationTimestamp: AFTER },
      involvedObject: { kind: 'Pod', name: 'train-0', namespace: 'ml', uid: 'u1' },
      reason: 'TaintManagerEviction',
      message: 'Cancelling deletion of Pod ml/train-0',
    };
    expect(answerTo(done, late).judgement.cause).toBe('CANNOT_TELL');
  });
});

describe('an eviction by a taint that the node no longer shows', () => {
  const evicted = (...others: readonly unknown[]): Answer =>
    answerTo(
      pod(
        { phase: 'Failed', containerStatuses: [ended(137)], conditions: [disruption('DeletionByTaintManager')] },
        { metadata: { deletionTimestamp: '2026-11-18T09:00:30Z', deletionGracePeriodSeconds: 30 } },
      ),
      ...others,
    );

  it('is certainly a taint if the node was always ready', () => {
    expect(evicted(node(BEFORE)).judgement).toMatchObject({ cause: 'NODE_TAINT', confidence: 'certain' });
  });

  it('is likely a lost node if the node became ready again later', () => {
    expect(evicted(node(AFTER)).judgement).toMatchObject({ cause: 'NODE_LOST', confidence: 'likely' });
  });

  it('is only likely a taint if the node is unknown', () => {
    expect(evicted().judgement).toMatchObject({ cause: 'NODE_TAINT', confidence: 'likely' });
  });
});

const DELETED = { metadata: { deletionTimestamp: '2026-11-18T09:00:30Z', deletionGracePeriodSeconds: 30 } };
const JOB = { ownerReferences: [{ kind: 'Job', name: 'train', uid: 'j1', controller: true }] };
const AT_0830 = { finishedAt: '2026-11-18T08:30:00Z' };

describe('the end of one container among several', () => {
  it('is the end of the init container if the others never started', () => {
    const init = { ...ended(1), name: 'fetch' };
    const waits = { name: 'trainer', restartCount: 0, state: { waiting: { reason: 'PodInitializing' } } };
    const { judgement } = answerTo(pod({ phase: 'Failed', initContainerStatuses: [init], containerStatuses: [waits] }));
    expect(judgement).toMatchObject({ cause: 'TRAINER_FAILED', evidence: [expect.stringContaining('container fetch')] as unknown });
  });

  it('is the end of the container that failed first', () => {
    const helper = { ...ended(137, { finishedAt: '2026-11-18T09:00:40Z' }), name: 'helper' };
    expect(answerTo(pod({ phase: 'Failed', containerStatuses: [helper, ended(1)] })).judgement.cause).toBe('TRAINER_FAILED');
  });

  it('is not the end of the pod while another container keeps it running', () => {
    const proxy = { name: 'proxy', restartCount: 0, state: { running: { startedAt: '2026-11-18T08:00:02Z' } } };
    for (const containerStatuses of [
      [proxy, ended(0)],
      [ended(0), proxy],
    ])
      expect(answerTo(pod({ phase: 'Running', containerStatuses })).judgement).toMatchObject({
        cause: 'STILL_RUNNING',
        evidence: ['container trainer ended with 0, and container proxy keeps the pod running'],
      });
  });

  it('stays the cause when the pod is evicted half an hour later', () => {
    const conditions = [disruption('EvictionByEvictionAPI')];
    const failed = pod({ phase: 'Failed', containerStatuses: [ended(1, AT_0830)], conditions }, DELETED);
    expect(answerTo(failed).judgement.cause).toBe('TRAINER_FAILED');
    const again = {
      ...ended(1, AT_0830),
      state: { running: { startedAt: '2026-11-18T08:31:00Z' } },
      lastState: ended(1, AT_0830)['state'],
    };
    expect(answerTo(pod({ phase: 'Running', containerStatuses: [again], conditions }, DELETED)).judgement.cause).toBe('API_EVICTION');
  });
});

describe('a status that Kubernetes never writes', () => {
  it.each(['constructor', '__proto__', 'toString'])('names a condition with the reason %s, and answers CANNOT_TELL', (reason) => {
    const { judgement } = answerTo(pod({ phase: 'Failed', containerStatuses: [ended(143)], conditions: [disruption(reason)] }, DELETED));
    expect(judgement.cause).toBe('CANNOT_TELL');
    expect(judgement.evidence.join()).toContain(`DisruptionTarget/${reason}`);
  });

  it('treats a termination message with the end “constructor” as no proof', () => {
    const message = renderTerminationMessage({ ...FINISHED, end: 'constructor' });
    expect(answerTo(pod({ phase: 'Failed', containerStatuses: [ended(143, { message })] })).judgement.cause).toBe('CANNOT_TELL');
  });
});

describe('an end that only resembles a later event', () => {
  it('is not attributed to a Job that was suspended long after the pod was deleted', () => {
    const gone = { ...JOB, deletionTimestamp: '2026-11-18T08:10:30Z', deletionGracePeriodSeconds: 30 };
    const victim = pod({ phase: 'Failed', containerStatuses: [ended(143, { finishedAt: '2026-11-18T08:10:02Z' })] }, { metadata: gone });
    const conditions = [{ type: 'Suspended', status: 'True', reason: 'JobSuspended', lastTransitionTime: '2026-11-18T09:00:00Z' }];
    const job = { kind: 'Job', metadata: { name: 'train', namespace: 'ml', uid: 'j1' }, spec: { suspend: true }, status: { conditions } };
    expect(answerTo(victim, job).judgement).toMatchObject({
      cause: 'CANNOT_TELL',
      candidates: expect.arrayContaining(['POD_DELETED']) as unknown,
    });
  });

  it('is only likely the trainer’s own if the conditions are gone', () => {
    const bare = pod({ phase: 'Failed', containerStatuses: [ended(1)], conditions: [] });
    expect(answerTo(bare).judgement).toMatchObject({ cause: 'TRAINER_FAILED', confidence: 'likely' });
  });

  it('is unknown for exit code 255, which containerd gives a container that it lost', () => {
    expect(answerTo(pod({ phase: 'Failed', containerStatuses: [ended(255, { reason: 'Unknown' })] })).judgement.cause).toBe('CANNOT_TELL');
  });

  it('does not count as a plain deletion if the node does not report', () => {
    const container = { name: 'trainer', restartCount: 0, state: { running: { startedAt: '2026-11-18T08:00:02Z' } } };
    const silent = { ...node(BEFORE), status: { conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: AFTER }] } };
    expect(answerTo(pod({ phase: 'Running', containerStatuses: [container] }, DELETED), silent).judgement).toMatchObject({
      cause: 'CANNOT_TELL',
      candidates: expect.arrayContaining(['NODE_LOST']) as unknown,
    });
  });

  it('is unfinished, without a request to stop, if the container exits with 0 after an out-of-memory kill of one process', () => {
    const limits = { spec: { containers: [{ name: 'trainer', resources: { limits: { memory: '1Gi' } } }] } };
    const { unfinishedBecause } = answerTo(pod({ phase: 'Succeeded', containerStatuses: [ended(0, { reason: 'OOMKilled' })] }, limits));
    expect(unfinishedBecause).toBe(
      'the pod is Succeeded, because it exited with 0 although the kernel killed one of its processes for its memory',
    );
  });
});
