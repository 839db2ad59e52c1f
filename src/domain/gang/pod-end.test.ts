import { describe, expect, it } from 'vitest';
import type { EndCause } from '../causes/catalogue.ts';
import { type EndClass, judgePod, type PodFacts } from './pod-end.ts';

const ALIVE: PodFacts = {
  isGone: false,
  phase: 'Running',
  reason: null,
  message: null,
  deletedMs: null,
  disruption: null,
  ended: null,
  told: null,
  isSupervised: false,
  trustsExitZero: false,
  isNodeLost: false,
  isNodeFaulty: false,
};
const END_MS = 1_000_000_500;
const exit = (exitCode: number, reason = 'Error'): PodFacts['ended'] => ({ exitCode, reason, finishedMs: END_MS });
const by = (reason: string, message = '', sinceMs = END_MS - 5000): PodFacts['disruption'] => ({ reason, message, sinceMs });
const failed = (exitCode: number, more: Partial<PodFacts> = {}): Partial<PodFacts> => ({ phase: 'Failed', ended: exit(exitCode), ...more });
const done = (more: Partial<PodFacts> = {}): Partial<PodFacts> => ({ phase: 'Succeeded', ended: exit(0, 'Completed'), ...more });

describe('the end of a pod', () => {
  it.each<[string, Partial<PodFacts>, EndClass, EndCause]>([
    ['runs', {}, 'running', 'STILL_RUNNING'],
    ['waits for a node', { phase: 'Pending' }, 'running', 'STILL_RUNNING'],
    ['exits with 0', done(), 'finished', 'FINISHED'],
    ['exits with 0 beside a sidecar that lives on', { ended: exit(0) }, 'finished', 'FINISHED'],
    ['exits with 0, and its sidecar fails', { phase: 'Failed', ended: exit(0) }, 'finished', 'FINISHED'],
    ['exits with 0 and is deleted an hour later', done({ deletedMs: END_MS + 3_600_000 }), 'finished', 'FINISHED'],
    ['exits with 0 while it is being deleted', done({ deletedMs: END_MS - 3000 }), 'interrupted', 'POD_DELETED'],
    ['exits with 0 in the second in which it is deleted', done({ deletedMs: END_MS - 400 }), 'interrupted', 'POD_DELETED'],
    ['exits with 0 after an eviction', done({ disruption: by('EvictionByEvictionAPI') }), 'interrupted', 'API_EVICTION'],
    [
      'exits with 0 after the kubelet evicted it',
      done({ disruption: by('TerminationByKubelet', 'The node was low on resource: memory. Threshold …') }),
      'interrupted',
      'MEMORY_PRESSURE',
    ],
    [
      'exits with 0 after an eviction, and its user trusts that',
      done({ disruption: by('EvictionByEvictionAPI'), trustsExitZero: true }),
      'finished',
      'FINISHED',
    ],
    [
      'says finished while it is being deleted',
      done({ deletedMs: END_MS - 3000, told: { provisional: false, cause: 'sigterm', end: 'finished' } }),
      'finished',
      'FINISHED',
    ],
    [
      'left only the provisional message and exits with 0',
      done({ deletedMs: END_MS - 3000, told: { provisional: true, cause: 'drain', end: null } }),
      'interrupted',
      'API_EVICTION',
    ],
    ['runs on a node that reports a fault', { isNodeFaulty: true }, 'interrupted', 'NODE_FAULTY'],
    ['exits with 0 on a node that reports a fault', done({ isNodeFaulty: true }), 'finished', 'FINISHED'],
    ['is being deleted', { deletedMs: 1 }, 'interrupted', 'POD_DELETED'],
    ['is preempted', { disruption: by('PreemptionByScheduler') }, 'interrupted', 'SCHEDULER_PREEMPTION'],
    ['is deleted for a taint', { disruption: by('DeletionByTaintManager'), deletedMs: 1 }, 'interrupted', 'NODE_TAINT'],
    ['is deleted for a taint of a silent node', { disruption: by('DeletionByTaintManager'), isNodeLost: true }, 'interrupted', 'NODE_LOST'],
    ['runs on a node that does not report', { isNodeLost: true }, 'interrupted', 'NODE_LOST'],
    ['finished on a node that does not report', done({ isNodeLost: true }), 'finished', 'FINISHED'],
    ['lost its Node object', failed(137, { disruption: by('DeletionByPodGC') }), 'interrupted', 'NODE_DELETED'],
    ['is on a node tainted out-of-service', { disruption: by('DeletionByPodGC', 'out-of-service taint') }, 'interrupted', 'NODE_LOST'],
    [
      'is ended by a shutdown of its node',
      failed(143, { reason: 'Terminated', disruption: by('TerminationByKubelet', '') }),
      'interrupted',
      'MACHINE_SHUTDOWN',
    ],
    [
      'makes room for a critical pod',
      failed(143, { reason: 'Preempting', disruption: by('TerminationByKubelet') }),
      'interrupted',
      'CRITICAL_POD',
    ],
    [
      'is evicted, and nobody knows for what',
      { disruption: by('TerminationByKubelet'), reason: 'Evicted' },
      'interrupted',
      'NODE_PRESSURE',
    ],
    ['fails with 1 after its deletion, as torchrun does', failed(1, { deletedMs: END_MS - 3000 }), 'interrupted', 'POD_DELETED'],
    ['fails with 1, and is deleted for it', failed(1, { deletedMs: END_MS + 3000 }), 'error-low', 'TRAINER_FAILED'],
    ['fails with 1', failed(1), 'error-low', 'TRAINER_FAILED'],
    ['fails with 1 beside a sidecar that lives on', { ended: exit(1) }, 'error-low', 'TRAINER_FAILED'],
    ['crashes', failed(139), 'error-high', 'TRAINER_CRASHED'],
    ['runs out of memory', { phase: 'Failed', ended: exit(137, 'OOMKilled') }, 'error-high', 'OUT_OF_MEMORY'],
    ['is killed, and nobody knows why', failed(137), 'error-high', 'TRAINER_FAILED'],
    ['exits with 143 unasked', failed(143), 'doubtful', 'CANNOT_TELL'],
    [
      'exits with 143 after a notice that only its supervisor heard',
      failed(143, { told: { provisional: false, cause: 'gcp-preempted', end: 'interrupted' } }),
      'interrupted',
      'SPOT_RECLAIM',
    ],
    [
      'exits with 143 because it is over its storage limit',
      failed(143, { told: { provisional: true, cause: 'storage-limit', end: null } }),
      'error-high',
      'EPHEMERAL_STORAGE_LIMIT',
    ],
    ['vanished from its runtime', { phase: 'Failed', ended: exit(137, 'ContainerStatusUnknown') }, 'doubtful', 'CANNOT_TELL'],
    ['vanished unseen', { isGone: true }, 'interrupted', 'POD_DELETED'],
    ['vanished with its node', { isGone: true, isNodeLost: true }, 'interrupted', 'NODE_LOST'],
    [
      'outgrew an emptyDir',
      { phase: 'Failed', reason: 'Evicted', message: 'Usage of EmptyDir volume "tmp" exceeds the limit "1Mi". ', ended: exit(143) },
      'error-high',
      'EMPTY_DIR_LIMIT',
    ],
    ['is rejected by its kubelet', { phase: 'Failed', reason: 'OutOfcpu' }, 'error', 'POD_REJECTED'],
    [
      'is rejected on a node under pressure',
      { phase: 'Failed', reason: 'Evicted', message: 'Pod was rejected: The node had condition: [DiskPressure]. ' },
      'error',
      'POD_REJECTED',
    ],
    ['is past its own deadline', { phase: 'Failed', reason: 'DeadlineExceeded' }, 'error', 'JOB_DEADLINE'],
    ['failed before anything was known', { phase: 'Failed' }, 'doubtful', 'CANNOT_TELL'],
    ['is fenced under its supervisor', failed(5, { isSupervised: true }), 'retry-later', 'SUPERVISOR_REFUSED'],
    ['cannot reach its store under its supervisor', failed(75, { isSupervised: true }), 'retry-later', 'SUPERVISOR_REFUSED'],
    ['finds no good checkpoint under its supervisor', failed(65, { isSupervised: true }), 'unusable', 'SUPERVISOR_REFUSED'],
    ['exits with 65 by itself', failed(65), 'error-low', 'TRAINER_FAILED'],
    ['does not exist in its image', failed(127), 'error-low', 'CONTAINER_NOT_STARTED'],
  ])('when it %s', (_, facts, end, cause) => {
    expect(judgePod({ ...ALIVE, ...facts })).toMatchObject({ class: end, cause });
  });
});
