import { describe, expect, it } from 'vitest';
import { disruption, ended, objects, pod } from '../../test/support/cluster-objects.ts';
import { ClusterState } from '../kube/objects/cluster-state.ts';
import { FIRST_RECORD, type RunRecord, withAttempt, withNextAttempt } from '../operator/training-run/record.ts';
import { statusOf } from '../operator/training-run/training-run.ts';
import type { Answer } from './answer.ts';
import { endedAttempts, runRecordsOf } from './facts/run-records.ts';
import { answersOf, NO_LEDGER } from './subjects.ts';

const DELETED = { deletionTimestamp: '2026-11-18T09:00:32Z', deletionGracePeriodSeconds: 30 };
const END = {
  cause: 'NODE_LOST',
  pod: 'gpt2-worker-1',
  node: 'node-7',
  nodePool: 'spot-a100',
  zone: null,
  machineType: null,
  exitCode: null,
  lostSteps: 120,
  lostSeconds: 600,
  accelerators: 8,
} as const;
const FIRST = withAttempt(FIRST_RECORD, 1, {
  createdAt: '2026-11-18T08:00:00Z',
  startedAt: '2026-11-18T08:00:20Z',
  detectedAt: '2026-11-18T09:00:00Z',
  end: END,
});
const SECOND: RunRecord = { ...withNextAttempt(FIRST, null), progress: { ...FIRST.progress, step: 620, lastGoodStep: 500 } };

function trainingRun(record: RunRecord): unknown {
  const job = { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'gpt2', uid: 'j1' };
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'TrainingRun',
    metadata: { name: 'gpt2-j1', namespace: 'ml' },
    spec: { job },
    status: JSON.parse(JSON.stringify(statusOf(record))) as unknown,
  };
}

/** A pod of the gang, as the operator creates it. */
function member(name: string, status: Readonly<Record<string, unknown>>, more: object = {}): unknown {
  const ownerReferences = [{ apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'gpt2', uid: 'j1', controller: true }];
  return pod(status, { metadata: { name, uid: name, labels: { 'holdfast.dev/attempt': '1' }, ownerReferences, ...more } });
}

function answersTo(...values: readonly unknown[]): readonly Answer[] {
  const state = new ClusterState(objects(...values));
  const attempts = endedAttempts([...runRecordsOf(state.objects).values()].flat());
  return answersOf(state.pods, state, { ledger: NO_LEDGER, attempts });
}

describe('why with a TrainingRun', () => {
  it('names the cause, the place and the loss of an attempt whose pods are gone', () => {
    const answers = answersTo(trainingRun(SECOND));
    expect(answers).toMatchObject([
      {
        subject: 'attempt 1 of trainingrun/gpt2-j1 in ml',
        judgement: { cause: 'NODE_LOST', confidence: 'certain' },
        atMs: Date.UTC(2026, 10, 18, 9),
        node: 'node-7',
        pool: 'spot-a100',
        fit: { graceMs: 0 },
        setting: { setting: '--every', value: '150s', gainMs: 450_000 },
        loss: { source: 'training-run', lostSteps: 120, lostMs: 600_000, savedStep: 500, acceleratorHours: 8 / 6 },
      },
    ]);
    expect(answers[0]?.timeline.map(({ from, text }) => `${from}: ${text}`)).toEqual([
      'run: attempt 1 is created',
      'run: attempt 1 runs on all its nodes',
      'run: attempt 1 ends: gpt2-worker-1, NODE_LOST',
    ]);
  });

  it('puts the lost pod before the pods that the operator stopped for it, and counts the loss once', () => {
    const left = member('gpt2-master-0', { phase: 'Failed', containerStatuses: [ended(143)] }, DELETED);
    const lost = member('gpt2-worker-1', { phase: 'Failed', containerStatuses: [ended(137)] }, DELETED);
    const answers = answersTo(left, lost, trainingRun(SECOND));
    expect(answers.map(({ subject, judgement, loss }) => [subject, judgement.cause, loss?.lostSteps ?? null])).toEqual([
      ['pod/gpt2-worker-1 in ml', 'NODE_LOST', 120],
      ['pod/gpt2-master-0 in ml', 'GANG_STOPPED', null],
    ]);
    expect(answers[1]?.judgement.evidence).toEqual([
      'attempt 1 of the TrainingRun gpt2-j1 ended because pod gpt2-worker-1 was lost (NODE_LOST)',
    ]);
  });

  it('believes the condition of the pod more than the record', () => {
    const conditions = [disruption('EvictionByEvictionAPI')];
    const lost = member('gpt2-worker-1', { phase: 'Failed', containerStatuses: [ended(143)], conditions }, DELETED);
    expect(answersTo(lost, trainingRun(SECOND))).toMatchObject([{ judgement: { cause: 'API_EVICTION', confidence: 'certain' } }]);
  });

  it('says CANNOT_TELL for an attempt whose cause the operator did not know either', () => {
    const unknown = withAttempt(FIRST, 1, { end: { ...END, cause: 'CANNOT_TELL' } });
    expect(answersTo(trainingRun(unknown))).toMatchObject([{ judgement: { cause: 'CANNOT_TELL', confidence: 'none' } }]);
  });

  it('computes the fit from the template of the job, when the pod is gone', () => {
    const job = {
      kind: 'PyTorchJob',
      metadata: { name: 'gpt2', namespace: 'ml', uid: 'j1' },
      spec: {
        pytorchReplicaSpecs: {
          Master: { template: { spec: { terminationGracePeriodSeconds: 30, containers: [{ name: 'pytorch' }] } } },
          Worker: { template: { spec: { terminationGracePeriodSeconds: 90, containers: [{ name: 'pytorch' }] } } },
        },
      },
    };
    const drained = withAttempt(FIRST, 1, { end: { ...END, cause: 'API_EVICTION' } });
    expect(answersTo(job, trainingRun(drained))).toMatchObject([{ fit: { graceMs: 90_000 }, setting: { setting: 'command' } }]);
  });

  it('leaves out a TrainingRun that says nothing', () => {
    expect(answersTo({ kind: 'TrainingRun', metadata: { name: 'x' }, spec: { job: 3 }, status: [] })).toEqual([]);
  });
});
