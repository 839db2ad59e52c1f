import { describe, expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { gpuPod } from '../../../test/support/whatif-world.ts';
import { findGangs } from './find-gangs.ts';

/** The gang of each pod, by title, and whether it is a service. */
function gangs(...values: readonly unknown[]): Readonly<Record<string, string>> {
  const found = findGangs(objects(...values));
  const names = values.flatMap((value) => {
    const { kind, metadata } = value as { readonly kind: string; readonly metadata: { readonly name: string } };
    return kind === 'Pod' ? [metadata.name] : [];
  });
  return Object.fromEntries(names.map((name) => [name, found.of(`ml/${name}`)?.title ?? 'none']));
}

const job = (name: string, spec: object): unknown => ({ kind: 'Job', metadata: { name, namespace: 'ml' }, spec });
const INDEXED = { completionMode: 'Indexed', completions: 2, parallelism: 2 };

describe('findGangs', () => {
  it.each([
    ['pods of a PyTorchJob', [gpuPod('a', { owner: ['PyTorchJob', 'x'] })], 'pytorchjob/x in ml'],
    ['pods of a TFJob', [gpuPod('a', { owner: ['TFJob', 'x'] })], 'tfjob/x in ml'],
    [
      'pods of a JobSet, through their Job',
      [gpuPod('a', { owner: ['Job', 'x-w-0'], labels: { 'jobset.sigs.k8s.io/jobset-name': 'x' } })],
      'jobset/x in ml',
    ],
    [
      'pods of a RayJob, through the RayCluster',
      [
        {
          kind: 'RayCluster',
          metadata: { name: 'c', namespace: 'ml', ownerReferences: [{ kind: 'RayJob', name: 'x', controller: true }] },
        },
        gpuPod('a', { owner: ['RayCluster', 'c'] }),
      ],
      'rayjob/x in ml',
    ],
    [
      'one group of a LeaderWorkerSet',
      [gpuPod('a', { labels: { 'leaderworkerset.sigs.k8s.io/name': 'x', 'leaderworkerset.sigs.k8s.io/group-index': '3' } })],
      'leaderworkerset/x in ml (group 3)',
    ],
    ['an indexed Job whose indexes run together', [job('x', INDEXED), gpuPod('a', { owner: ['Job', 'x'] })], 'job/x in ml'],
    ['a Job of one pod', [job('x', {}), gpuPod('a', { owner: ['Job', 'x'] })], 'job/x in ml'],
    [
      'an indexed Job with a limit for each index',
      [job('x', { ...INDEXED, backoffLimitPerIndex: 1 }), gpuPod('a', { owner: ['Job', 'x'] })],
      'pod/a in ml',
    ],
    [
      'an indexed Job that runs fewer pods than it completes',
      [job('x', { ...INDEXED, completions: 9 }), gpuPod('a', { owner: ['Job', 'x'] })],
      'pod/a in ml',
    ],
    ['a PodGroup of Volcano', [gpuPod('a', { annotations: { 'scheduling.k8s.io/group-name': 'g' } })], 'podgroup/g in ml'],
    ['a PodGroup of scheduler-plugins', [gpuPod('a', { labels: { 'scheduling.x-k8s.io/pod-group': 'g' } })], 'podgroup/g in ml'],
    ['a PodGroup of Kubernetes', [gpuPod('a', { spec: { schedulingGroup: { podGroupName: 'g' } } })], 'podgroup/g in ml'],
    [
      'no gang, where the PodGroup has the policy basic',
      [
        { kind: 'PodGroup', metadata: { name: 'g', namespace: 'ml' }, spec: { schedulingPolicy: { basic: {} } } },
        gpuPod('a', { spec: { schedulingGroup: { podGroupName: 'g' } } }),
      ],
      'pod/a in ml',
    ],
    [
      'the workload before its PodGroup',
      [gpuPod('a', { owner: ['PyTorchJob', 'x'], annotations: { 'scheduling.k8s.io/group-name': 'g' } })],
      'pytorchjob/x in ml',
    ],
    ['a pod of a Deployment alone', [gpuPod('a', { owner: ['ReplicaSet', 'x-1'] })], 'pod/a in ml'],
  ] as const)('finds %s', (_, values, title) => {
    expect(gangs(...values)['a']).toBe(title);
  });

  it('ends at owners that own each other, and reports the pod', () => {
    const owned = (name: string, owner: string): unknown => ({
      kind: 'Job',
      metadata: { name, namespace: 'ml', ownerReferences: [{ kind: 'Job', name: owner, controller: true }] },
      spec: { parallelism: 3 },
    });
    const found = findGangs(objects(owned('a', 'b'), owned('b', 'a'), gpuPod('p', { owner: ['Job', 'a'] })));
    expect(found.cycles).toEqual(['ml/p']);
    expect(found.of('ml/p')?.kind).toBe('Pod');
  });

  it('takes a pod of ReplicaSets that own each other for no service: it may train', () => {
    const owned = (name: string, owner: string): unknown => ({
      kind: 'ReplicaSet',
      metadata: { name, namespace: 'ml', ownerReferences: [{ kind: 'ReplicaSet', name: owner, controller: true }] },
    });
    const found = findGangs(objects(owned('a', 'b'), owned('b', 'a'), gpuPod('p', { owner: ['ReplicaSet', 'a'] })));
    expect(found.of('ml/p')?.isService).toBe(false);
  });

  it('reports pods of a Job that was not read, because the Job may be a gang', () => {
    expect(findGangs(objects(gpuPod('p', { owner: ['Job', 'x'] }))).unknownJobs).toEqual(['ml/p']);
  });
});
