import { describe, expect, it } from 'vitest';
import { exampleWorld, gpuNode, gpuPod, world } from '../../../test/support/whatif-world.ts';
import { answerLeave } from './leave.ts';

const budget = (name: string, disruptionsAllowed: number): unknown => ({
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'ml' },
  spec: { selector: { matchLabels: { app: 'x' } } },
  status: { disruptionsAllowed },
});
const labelled = (name: string): unknown => gpuPod(name, { node: 'a', labels: { app: 'x' }, owner: ['ReplicaSet', 'x'] });

describe('whatif drain, reclaim and lose', () => {
  it('a drain stops the gang that has pods elsewhere too', () => {
    const { leaving, gangs, cost } = answerLeave(exampleWorld(), new Set(['gpu-2']), 'drain');
    expect(leaving.map(({ pod }) => pod.key)).toEqual(['ml/llama-worker-1', 'ml/llama-worker-2']);
    expect(gangs).toMatchObject([{ gang: { title: 'pytorchjob/llama in ml' }, fate: 'waits' }]);
    expect(cost.acceleratorSeconds).toBe(16 * (18 * 60 + 150));
  });

  it('a drain waits for a budget, and takes as many pods as the budget allows', () => {
    const own = world(gpuNode('a', 8), gpuNode('b', 8), labelled('p'), labelled('q'), budget('keep', 1));
    const { leaving, staying } = answerLeave(own, new Set(['a']), 'drain');
    expect(leaving.map(({ pod }) => pod.key)).toEqual(['ml/p']);
    expect(staying).toMatchObject([{ pod: 'ml/q', because: expect.stringContaining('budget keep') as string }]);
  });

  it('two budgets over one pod refuse its eviction', () => {
    const own = world(gpuNode('a', 8), labelled('p'), budget('one', 5), budget('two', 5));
    expect(answerLeave(own, new Set(['a']), 'drain').staying).toMatchObject([{ because: expect.stringContaining('2 budgets') as string }]);
  });

  it('a drain leaves DaemonSets and static pods alone; a lost node takes them along', () => {
    const own = world(
      gpuNode('a', 8),
      gpuPod('daemon', { node: 'a', owner: ['DaemonSet', 'd'] }),
      gpuPod('static', { node: 'a', annotations: { 'kubernetes.io/config.mirror': 'x' } }),
    );
    expect(answerLeave(own, new Set(['a']), 'drain').leaving).toEqual([]);
    expect(answerLeave(own, new Set(['a']), 'lose').leaving).toHaveLength(2);
  });

  it('a lost node gives no notice, and its pods are replaced after the silence and the toleration', () => {
    const tolerations = [{ key: 'node.kubernetes.io/unreachable', tolerationSeconds: 30 }];
    const own = world(gpuNode('a', 8), gpuPod('p', { node: 'a', spec: { tolerations } }));
    expect(answerLeave(own, new Set(['a']), 'lose').leaving).toMatchObject([{ isTold: false, replacedAfterMs: 80_000 }]);
  });

  it('a reclaimed GKE Spot node gives 15 seconds, whatever the pod asks for', () => {
    const node = gpuNode('a', 8, { labels: { 'cloud.google.com/gke-spot': 'true' } });
    const own = world(node, gpuPod('p', { node: 'a', spec: { terminationGracePeriodSeconds: 600 } }));
    expect(answerLeave(own, new Set(['a']), 'reclaim').leaving).toMatchObject([{ isTold: true, graceMs: 15_000 }]);
  });

  it('says that it counts a reclaim as a shutdown where no label names the cloud', () => {
    const own = world(gpuNode('a', 8), gpuNode('b', 8, { labels: { 'cloud.google.com/gke-spot': 'true' } }), gpuPod('p', { node: 'a' }));
    const texts = (how: 'reclaim' | 'lose', node: string): readonly string[] =>
      answerLeave(own, new Set([node]), how).notes.map(({ text }) => text);
    expect(texts('reclaim', 'a')).toContainEqual(expect.stringMatching(/^no label of a names its cloud/));
    expect([...texts('reclaim', 'b'), ...texts('lose', 'a')].join()).not.toContain('names its cloud');
  });

  it('pods come back where there is room', () => {
    const own = world(gpuNode('a', 8), gpuNode('b', 8), gpuPod('p', { node: 'a', owner: ['ReplicaSet', 'x'] }));
    expect(answerLeave(own, new Set(['a']), 'reclaim').gangs).toMatchObject([{ fate: 'restarts', returns: [{ pod: 'p', node: 'b' }] }]);
  });
});
