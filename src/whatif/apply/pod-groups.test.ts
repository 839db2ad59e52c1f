import { describe, expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { gpuNode, gpuPod, world } from '../../../test/support/whatif-world.ts';
import { type ApplyAnswer, answerApply } from './answer.ts';

const snapshot = (notInstalled: readonly string[]): unknown => ({
  apiVersion: 'holdfast.dev/v1alpha1',
  kind: 'ClusterSnapshot',
  metadata: { name: 'test', creationTimestamp: '2026-11-18T09:00:00Z' },
  spec: { serverVersion: 'v1.37.1', notInstalled, leftOut: [] },
});
const group = {
  apiVersion: 'scheduling.k8s.io/v1beta1',
  kind: 'PodGroup',
  metadata: { name: 'gang', namespace: 'ml' },
  spec: { priority: 100, schedulingPolicy: { gang: { minCount: 2 } } },
};
const gang = ['gang-0', 'gang-1'].map((name) => gpuPod(name, { priority: 100, spec: { schedulingGroup: { podGroupName: 'gang' } } }));
const SAVED = { 'holdfast.dev/last-sealed': '2026-11-18T08:30:00Z', 'holdfast.dev/restart-seconds': '60' };
/** Three equal nodes: one is free, and each of the others has a pod of low priority. */
const nodes = ['a', 'b', 'free'].map((name) => gpuNode(name, 1));
const low = ['a', 'b'].map((at) => gpuPod(`on-${at}`, { node: at, annotations: SAVED }));

const apply = (notInstalled: readonly string[]): ApplyAnswer =>
  answerApply(world(snapshot(notInstalled), ...nodes, ...low), objects(group, ...gang), { namespace: 'ml', replicas: null });

describe('a gang of Kubernetes itself', () => {
  it('evicts more than it must, and the answer shows the cheaper set that the scheduler misses', () => {
    const { evicted, alternatives, cost, pods, notes } = apply([]);
    expect(pods.map(({ node }) => node)).toEqual(['a', 'b']);
    expect(evicted.map(({ pod }) => pod.key)).toEqual(['ml/on-a', 'ml/on-b']);
    const cheaper = alternatives.find(({ kind }) => kind === 'other-node');
    expect(cheaper?.stops).toEqual(['pod/on-a in ml']);
    expect(cheaper?.cost.worst).toBe(cost.worst / 2);
    expect(cheaper?.change.join('\n')).toContain('values: [free, a]');
    expect(notes.map(({ text }) => text)).toContain(
      'the PodGroup ml/gang takes the first of equal nodes; the scheduler takes any of them, and may evict other pods',
    );
  });

  it('counts as single pods in a cluster that serves no PodGroups', () => {
    expect(apply(['podgroups.scheduling.k8s.io']).evicted).toHaveLength(1);
  });

  it('is assumed to be scheduled as a gang where the cluster serves PodGroups, and the answer says so', () => {
    expect(apply([]).notes.map(({ text }) => text)).toContainEqual(expect.stringContaining('GenericWorkload is on'));
  });
});
