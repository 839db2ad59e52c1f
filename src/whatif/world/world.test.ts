import { describe, expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { gpuNode, gpuPod, world } from '../../../test/support/whatif-world.ts';
import { worldOf } from './world.ts';

const notes = (...values: readonly unknown[]): string =>
  world(...values)
    .notes.map(({ kind, text }) => `${kind}: ${text}`)
    .join('\n');
const snapshot = (spec: object): unknown => ({
  kind: 'ClusterSnapshot',
  metadata: { name: 'c', creationTimestamp: '2026-11-18T09:00:00Z' },
  spec,
});

describe('what an answer says of its input', () => {
  it.each([
    [
      'a pod on a node that is not there',
      [gpuNode('a', 1), gpuPod('p', { node: 'gone' })],
      'bad-input: a pod is on a node that is not in the input, and takes no room: ml/p',
    ],
    [
      'a quantity that cannot be read',
      [{ kind: 'Node', metadata: { name: 'a' }, status: { allocatable: { cpu: 'many' } } }],
      'node/a: status.allocatable.cpu is "many"',
    ],
    ['no node at all', [gpuPod('p', {})], 'bad-input: there is no node'],
    [
      'another scheduler',
      [gpuNode('a', 1), gpuPod('p', { spec: { schedulerName: 'volcano' } })],
      'not-modelled: the scheduler volcano, which places 1 pod',
    ],
    ['claims of DRA', [gpuNode('a', 1), gpuPod('p', { spec: { resourceClaims: [{ name: 'x' }] } })], 'ml/p: it has DRA resource claims'],
    [
      'volumes that bind late',
      [
        gpuNode('a', 1),
        { kind: 'StorageClass', metadata: { name: 's' }, volumeBindingMode: 'WaitForFirstConsumer' },
        { kind: 'PersistentVolumeClaim', metadata: { name: 'c', namespace: 'ml' }, spec: { storageClassName: 's' } },
        gpuPod('p', { spec: { volumes: [{ persistentVolumeClaim: { claimName: 'c' } }] } }),
      ],
      'not-modelled: volumes that bind late: ml/p',
    ],
    [
      'a volume that only some nodes reach',
      [
        gpuNode('a', 1),
        { kind: 'PersistentVolume', metadata: { name: 'v' }, spec: { nodeAffinity: { required: {} } } },
        { kind: 'PersistentVolumeClaim', metadata: { name: 'c', namespace: 'ml' }, spec: { volumeName: 'v' } },
        gpuPod('p', { spec: { volumes: [{ persistentVolumeClaim: { claimName: 'c' } }] } }),
      ],
      'not-modelled: volumes that only some nodes reach: ml/p',
    ],
    [
      'a pod without a container that can be read',
      [gpuNode('a', 1), gpuPod('p', { spec: { containers: 'x' } })],
      'no container can be read: ml/p takes no room',
    ],
    ['priority classes that were left out of a dump', [gpuNode('a', 1)], 'missing: no priorityclasses were read'],
    [
      'a kind that may not be listed',
      [gpuNode('a', 1), snapshot({ serverVersion: 'v1.35.8', leftOut: [{ resource: 'poddisruptionbudgets.policy', reason: 'x' }] })],
      'missing: no poddisruptionbudgets were read: no budget counts',
    ],
    ['a version that is only the kubelets’', [gpuNode('a', 1)], 'the control plane has the version of the newest kubelet, v1.35.8'],
    ['a version that was never compared', [snapshot({ serverVersion: 'v1.52.0' })], 'the rules of 1.35 to 1.37 hold for v1.52.0'],
    ['a gate that no API shows', [snapshot({ serverVersion: 'v1.37.1', notInstalled: [] })], 'the scheduler’s gate GenericWorkload is on'],
  ] as const)('names %s', (_, values, text) => {
    expect(notes(...values)).toContain(text);
  });

  it('takes the time of a dump from its newest object, and says so', () => {
    const own = worldOf(objects(gpuNode('a', 1), gpuPod('p', { node: 'a', startTime: '2026-11-18T08:30:00Z' })), null);
    expect(own.nowMs).toBe(Date.parse('2026-11-18T08:30:00Z'));
    expect(own.notes.map(({ text }) => text)).toContain('it is 2026-11-18T08:30:00.000Z, the newest time in the input');
  });

  it('refuses two clusters in one input', () => {
    const twice = (uid: string): unknown => ({ kind: 'Namespace', metadata: { name: 'kube-system', uid } });
    expect(() => world(twice('1'), twice('2'))).toThrow('namespace/kube-system is in it with two uids');
    expect(() => world(snapshot({}), snapshot({}))).toThrow('it holds 2 snapshots');
  });
});
