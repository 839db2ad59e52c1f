import { describe, expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { gpuPod } from '../../../test/support/whatif-world.ts';
import { reactionOf } from './aftermath.ts';
import { findGangs } from './find-gangs.ts';

const IGNORES = { podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] } };
const OWNED = (kind: string): unknown =>
  gpuPod('a', { node: 'n', owner: [kind, 'x'], labels: { 'training.kubeflow.org/replica-type': 'worker' } });

function reaction(owner: unknown, pod: unknown, isSupervised = false): readonly [string, string] {
  const all = objects(owner, pod);
  const gang = findGangs(all).of('ml/a');
  if (gang === null) throw new Error('there is no gang');
  const { does, because } = reactionOf(gang, gang.pods, isSupervised);
  return [does, because];
}

const named = (kind: string, spec: object, status: object = {}): unknown => ({
  kind,
  metadata: { name: 'x', namespace: 'ml' },
  spec,
  status,
});

describe('what becomes of a gang that loses a pod', () => {
  it.each([
    ['a Job that ignores disruptions', named('Job', { backoffLimit: 0, ...IGNORES }), OWNED('Job'), 'recreates', 'does not count'],
    ['a Job with failures to spare', named('Job', { backoffLimit: 3 }, { failed: 1 }), OWNED('Job'), 'recreates', '2 of 3 failures'],
    ['a Job whose failures are used up', named('Job', { backoffLimit: 1 }, { failed: 1 }), OWNED('Job'), 'ends', 'backoffLimit 1'],
    [
      'a PyTorchJob without a policy',
      named('PyTorchJob', { pytorchReplicaSpecs: { Worker: {} } }),
      OWNED('PyTorchJob'),
      'recreates',
      'not restarted',
    ],
    [
      'a PyTorchJob that never restarts',
      named('PyTorchJob', { pytorchReplicaSpecs: { Worker: { restartPolicy: 'Never' } } }),
      OWNED('PyTorchJob'),
      'ends',
      'Never',
    ],
    [
      'a PyTorchJob by exit code',
      named('PyTorchJob', { pytorchReplicaSpecs: { Worker: { restartPolicy: 'ExitCode' } } }),
      OWNED('PyTorchJob'),
      'unknown',
      '128',
    ],
    ['a TFJob, which never restarts by default', named('TFJob', { tfReplicaSpecs: { Worker: {} } }), OWNED('TFJob'), 'ends', 'Never'],
    [
      'a JobSet without restarts',
      named('JobSet', { replicatedJobs: [{ template: { spec: { backoffLimit: 0 } } }] }),
      OWNED('JobSet'),
      'ends',
      'maxRestarts is 0',
    ],
    [
      'a JobSet with restarts',
      named(
        'JobSet',
        { failurePolicy: { maxRestarts: 3 }, replicatedJobs: [{ template: { spec: { backoffLimit: 0 } } }] },
        { restarts: 1 },
      ),
      OWNED('JobSet'),
      'recreates',
      'restart 2 of 3',
    ],
    ['a LeaderWorkerSet', named('LeaderWorkerSet', {}), OWNED('LeaderWorkerSet'), 'recreates', 'whole group'],
    ['a bare pod', named('Job', {}), gpuPod('a', { node: 'n' }), 'ends', 'no controller'],
    ['a Deployment', named('Job', {}), OWNED('ReplicaSet'), 'recreates', 'ReplicaSet'],
  ] as const)('%s', (_, owner, pod, does, because) => {
    const [found, text] = reaction(owner, pod);
    expect({ found, text }).toEqual({ found: does, text: expect.stringContaining(because) as string });
  });

  it('is the operator’s restart of the whole gang where the operator looks after it', () => {
    expect(reaction(named('Job', { backoffLimit: 0 }), OWNED('Job'), true)[1]).toContain('whole gang');
  });
});
