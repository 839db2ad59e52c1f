import { expect, it } from 'vitest';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { at, listAt } from '../../kube/objects/fields.ts';
import { nodeState, podTrimmer, trimNode, trimService } from './trim.ts';

const metadata = { name: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', labels: { a: 'b' } };

it('a mirrored pod has its command and its resources, and neither its environment nor volumes that no claim holds', () => {
  const kept = { name: 'pytorch', command: ['holdfast', 'run'], resources: { limits: { 'nvidia.com/gpu': 1 } } };
  const claimed = { name: 'runs', persistentVolumeClaim: { claimName: 'runs' } };
  const spec = { nodeName: 'n', volumes: [{}, claimed], containers: [{ ...kept, env: [{ name: 'A', value: 'B' }], volumeMounts: [{}] }] };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, annotations: { long: 'text', 'holdfast.dev/make-room': 'true' } },
    spec,
    status: { phase: 'Running' },
  };
  const own = { ...metadata, annotations: { 'holdfast.dev/make-room': 'true' } };
  expect(podTrimmer()(pod)).toEqual({ ...pod, metadata: own, spec: { nodeName: 'n', containers: [kept], volumes: [claimed] } });
});

it('what is equal in mirrored pods is kept once, and states of their containers are their own', () => {
  const trim = podTrimmer();
  const [one, other] = ['a', 'b'].map((name, restartCount) => {
    const resources = { limits: { 'nvidia.com/gpu': 8 } };
    const ownerReferences = [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'o' }];
    return trim({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name, ownerReferences },
      spec: { containers: [{ name: 'pytorch', resources, image: 'i', terminationMessagePath: 'p' }], tolerations: [{ key: 'a' }] },
      status: { phase: 'Running', hostIP: '10.0.0.1', containerStatuses: [{ name: 'pytorch', restartCount, imageID: 'x' }] },
    });
  });
  const parts = (pod: ApiObject | undefined): readonly unknown[] => [
    listAt(pod, 'spec', 'containers')[0],
    at(pod, 'spec', 'tolerations'),
    pod?.metadata.ownerReferences,
  ];
  const shared = parts(other);
  for (const [index, part] of parts(one).entries()) expect(part).toBe(shared[index]);
  expect(shared[0]).toEqual({ name: 'pytorch', resources: { limits: { 'nvidia.com/gpu': 8 } }, image: 'i' });
  expect(one).toMatchObject({
    metadata: { name: 'a' },
    status: { phase: 'Running', containerStatuses: [{ name: 'pytorch', restartCount: 0 }] },
  });
  expect(other?.['status']).toEqual({ phase: 'Running', containerStatuses: [{ name: 'pytorch', restartCount: 1 }] });
});

it('a mirrored Service has its name and its owner alone', () => {
  expect(trimService({ apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [] } })).toEqual({
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
  });
});

it('the state of a node changes with its taints and conditions, and not with a heartbeat', () => {
  const node = (status: object, taints?: readonly object[]): Parameters<typeof trimNode>[0] => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata,
    spec: { ...(taints === undefined ? {} : { taints }) },
    status,
  });
  const ready = (status: string, lastHeartbeatTime = 'now'): object => ({
    conditions: [{ type: 'Ready', status, lastHeartbeatTime }],
    images: [{}],
  });
  expect(trimNode(node(ready('True')))).not.toHaveProperty('status.images');
  expect(nodeState(node(ready('True', 'later')))).toBe(nodeState(node(ready('True'))));
  expect(nodeState(node(ready('Unknown')))).not.toBe(nodeState(node(ready('True'))));
  expect(nodeState(node(ready('True'), [{ key: 'a' }]))).not.toBe(nodeState(node(ready('True'))));
  expect(nodeState(null)).not.toBe(nodeState(node(ready('True'))));
});
