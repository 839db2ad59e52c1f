import { describe, expect, it } from 'vitest';
import { gpuNode, gpuPod, world } from '../../../test/support/whatif-world.ts';
import { answerPressure } from './pressure.ts';
import { statsOfMetrics, statsOfSummary } from './stats.ts';

const GIB = 2 ** 30;
const measured = (name: string, memory: number, disk: number): unknown => ({
  podRef: { namespace: 'ml', name },
  memory: { workingSetBytes: memory },
  containers: [{ rootfs: { usedBytes: disk }, logs: { usedBytes: 0 } }],
  volume: [{ usedBytes: 100 * GIB, pvcRef: { name: 'claim' } }],
});
const SUMMARY = { node: { fs: { capacityBytes: 1 } }, pods: [measured('small', 2 * GIB, 9 * GIB), measured('large', 5 * GIB, GIB)] };
const OWN = world(
  gpuNode('a', 8),
  gpuPod('small', { node: 'a', owner: ['ReplicaSet', 'x'] }),
  gpuPod('large', { node: 'a', owner: ['ReplicaSet', 'x'] }),
  gpuPod('critical', { node: 'a', priority: 2_000_000_000 }),
);

const order = (short: 'memory' | 'disk'): readonly string[] => {
  const stats = statsOfSummary(SUMMARY, 'a test');
  if (stats === null) throw new Error('the summary is none');
  return answerPressure(OWN, 'a', short, stats).flatMap(({ pod, isSpared }) => (isSpared ? [] : [pod.name]));
};

describe('whatif pressure', () => {
  it('evicts the pod that is furthest above its request of memory first', () => {
    expect(order('memory')).toEqual(['large', 'small']);
  });

  it('counts a pod’s own disk, and no volume of a claim', () => {
    expect(order('disk')).toEqual(['small', 'large']);
  });

  it('reads memory from metrics.k8s.io', () => {
    const stats = statsOfMetrics({ items: [{ metadata: { namespace: 'ml', name: 'small' }, containers: [{ usage: { memory: '8Gi' } }] }] });
    expect(stats?.usage.get('ml/small')?.memory).toBe(8 * GIB);
    expect(stats?.hasDisk).toBe(false);
  });

  it.each([[null], [{}], [[]], [{ pods: 'x' }]])('takes no numbers from %j', (value) => {
    expect([statsOfSummary(value, 'a test'), statsOfMetrics(value)]).toEqual([null, null]);
  });
});
