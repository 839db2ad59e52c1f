import { describe, expect, it } from 'vitest';
import { objects } from '../../../test/support/cluster-objects.ts';
import { exampleObjects, exampleWorld, gpuNode, gpuPod, world } from '../../../test/support/whatif-world.ts';
import type { World } from '../world/world.ts';
import { type ApplyAnswer, answerApply } from './answer.ts';

const asked = (own: World, replicas: number | null = null): ApplyAnswer =>
  answerApply(own, exampleObjects('inference.yaml'), { namespace: 'default', replicas });

/** A pod that asks for so many GPUs with priority 1000. */
const pod = (gpus: number, spec: object = {}): unknown => ({
  kind: 'Pod',
  metadata: { name: 'new', namespace: 'ml' },
  spec: { priority: 1000, containers: [{ name: 'c', resources: { limits: { 'nvidia.com/gpu': gpus } } }], ...spec },
});

const apply = (own: World, ...values: readonly unknown[]): ApplyAnswer =>
  answerApply(own, objects(...values), { namespace: 'ml', replicas: null });

describe('whatif apply', () => {
  it('finds the victim, the whole gang behind it, and what that loses', () => {
    const { pods, evicted, gangs, accelerators, cost } = asked(exampleWorld());
    expect(pods).toMatchObject([{ node: 'gpu-2', evicts: true }]);
    expect(evicted).toMatchObject([{ pod: { key: 'ml/llama-worker-2' }, node: 'gpu-2', graceSeconds: 60 }]);
    expect(gangs).toMatchObject([{ gang: { title: 'pytorchjob/llama in ml' }, fate: 'waits' }]);
    expect(accelerators).toEqual({ needed: 4, freed: 4, idle: 12 });
    expect(cost.acceleratorSeconds).toBe(16 * (18 * 60 + 150));
  });

  it('ranks what loses less, each with an exact change, and plays every one with the same engine', () => {
    const { alternatives, cost } = asked(exampleWorld());
    expect(alternatives.map(({ kind }) => kind)).toEqual(['never-evict', 'other-node', 'other-victim', 'wait-for-save', 'make-room']);
    const costs = alternatives.map((each) => each.cost.worst);
    expect(costs).toEqual(costs.toSorted((a, b) => a - b));
    for (const each of alternatives) {
      expect(each.cost.worst).toBeLessThan(cost.worst);
      expect(each.change.length).toBeGreaterThan(0);
    }
    expect(alternatives[1]?.change).toEqual(['spec.template.spec.nodeSelector: {"kubernetes.io/hostname": "gpu-3"}']);
    expect(alternatives[2]?.change).toEqual([`kubectl patch job sweep-7 -n ml --type=merge -p '{"spec":{"suspend":true}}'`]);
  });

  it('evicts only the first pod’s victims once: the second pod finds others', () => {
    const { evicted, pods } = asked(exampleWorld(), 3);
    expect(new Set(evicted.map(({ pod: { key } }) => key)).size).toBe(3);
    expect(new Set(pods.map(({ node }) => node))).toEqual(new Set(['gpu-2', 'gpu-3', 'gpu-4']));
  });

  it('evicts no pod where there is room, and offers no alternative', () => {
    expect(asked(exampleWorld(gpuNode('gpu-5', 8)))).toMatchObject({
      evicted: [],
      alternatives: [],
      pods: [{ node: 'gpu-5', evicts: false }],
    });
  });

  it('counts limits as requests, as the API server does', () => {
    expect(apply(world(gpuNode('a', 2)), pod(4)).pods).toMatchObject([
      {
        node: null,
        message:
          '0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
      },
    ]);
  });

  it('reports every set of victims where the scheduler takes any', () => {
    const started = { priority: 1, gpus: 4, startTime: '2026-11-18T08:00:00Z' };
    const own = world(gpuNode('a', 4), gpuNode('b', 4), gpuPod('x', { node: 'a', ...started }), gpuPod('y', { node: 'b', ...started }));
    const { possible } = apply(own, pod(4));
    expect(possible.map(({ node, victims }) => [node, ...victims]).toSorted()).toEqual([
      ['a', 'ml/x'],
      ['b', 'ml/y'],
    ]);
  });

  it('reports every set of victims on one node where pods of one priority started in the same second', () => {
    const on = (name: string, gpus: number, startTime = '2026-11-18T08:00:00Z'): unknown =>
      gpuPod(name, { node: 'a', priority: 1, gpus, startTime });
    const { possible } = apply(world(gpuNode('a', 5), on('old', 1, '2026-11-18T07:00:00Z'), on('x', 2), on('y', 1), on('z', 1)), pod(1));
    expect(possible.map(({ victims }) => victims).toSorted()).toEqual([['ml/x'], ['ml/y'], ['ml/z']]);
    expect(apply(world(gpuNode('a', 2), on('x', 1), on('y', 1)), pod(2)).possible).toEqual([]);
  });

  it('reports what a second pod may evict after each choice that the first one has', () => {
    const on = (name: string, node: string, gpus: number): unknown => gpuPod(name, { node, priority: 1, gpus });
    const own = world(gpuNode('a', 2), gpuNode('b', 2), on('x', 'a', 1), on('y', 'a', 1), on('z', 'b', 1), on('w', 'b', 1));
    const { possible, evicted, notes } = answerApply(own, objects(pod(1)), { namespace: 'ml', replicas: 2 });
    expect(evicted).toHaveLength(2);
    const first = possible.filter((set) => set.pod === possible[0]?.pod);
    expect(first.map(({ victims }) => victims.join(' ')).toSorted()).toEqual(['ml/w', 'ml/x', 'ml/y', 'ml/z']);
    expect(new Set(possible.slice(first.length).flatMap(({ victims }) => victims))).toEqual(new Set(['ml/w', 'ml/x', 'ml/y', 'ml/z']));
    expect(notes.some(({ text }) => text.includes('more equal choices'))).toBe(false);
  });

  it('says so where there are more choices than it plays', () => {
    const full = Array.from({ length: 9 }, (_, index) => [
      gpuNode(`n${index}`, 1),
      gpuPod(`p${index}`, { node: `n${index}`, priority: 1, gpus: 1 }),
    ]);
    const { notes } = answerApply(world(...full.flat()), objects(pod(1)), { namespace: 'ml', replicas: 3 });
    expect(notes).toContainEqual(
      expect.objectContaining({ kind: 'assumed', text: expect.stringContaining('more equal choices') as unknown }),
    );
  });

  it('offers a free node that a selector or a taint keeps the pod from', () => {
    const busy = gpuPod('x', { node: 'a', gpus: 4, priority: 1 });
    const labelled = gpuNode('a', 4, { labels: { pool: 'prod' } });
    const selected = apply(world(labelled, gpuNode('b', 4), busy), pod(4, { nodeSelector: { pool: 'prod' } }));
    expect(selected.alternatives[0]).toMatchObject({
      kind: 'fewer-demands',
      change: ['remove spec.nodeSelector {pool: prod}'],
      isAtOnce: true,
    });
    const taint = { taints: [{ key: 'team', value: 'b', effect: 'NoSchedule' }] };
    const tainted = apply(world(labelled, gpuNode('b', 4, { spec: taint }), busy), pod(4));
    expect(tainted.alternatives[0]?.change).toEqual(['spec.tolerations: [{key: team, operator: Equal, value: "b", effect: NoSchedule}]']);
  });

  it('offers as many replicas as there is room for', () => {
    const { alternatives } = asked(exampleWorld(gpuNode('gpu-5', 4)), 2);
    expect(alternatives.find(({ kind }) => kind === 'fewer-replicas')?.change).toEqual(['spec.replicas: 1']);
  });

  it('names requests that no longer fit anywhere', () => {
    const own = world(gpuNode('a', 4), gpuPod('x', { node: 'a', gpus: 2 }));
    expect(apply(own, pod(2)).shapes).toMatchObject([{ request: '2 nvidia.com/gpu', nodesBefore: 1, nodesAfter: 0 }]);
  });

  it('places only the pods that a running object does not have yet', () => {
    const running = gpuPod('vision-1', { node: 'gpu-1', owner: ['ReplicaSet', 'vision-77'], labels: { 'pod-template-hash': '77' } });
    const { metadata, ...rest } = running as { readonly metadata: object };
    const { pods, notes } = asked(exampleWorld({ ...rest, metadata: { ...metadata, namespace: 'serving' } }));
    expect(pods).toEqual([]);
    expect(notes.map(({ text }) => text)).toContainEqual(expect.stringContaining('runs already with 1 pod'));
  });

  it('makes the pods of every kind of workload', () => {
    const template = { spec: { containers: [{ name: 'c' }] } };
    const counts = (kind: string, spec: object): number =>
      apply(world(gpuNode('a', 1)), { kind, metadata: { name: 'x' }, spec }).pods.length;
    expect(counts('Job', { parallelism: 5, completions: 3, template })).toBe(3);
    expect(counts('PyTorchJob', { pytorchReplicaSpecs: { Master: { template }, Worker: { replicas: 3, template } } })).toBe(4);
    expect(
      counts('JobSet', { replicatedJobs: [{ name: 'w', replicas: 2, template: { spec: { parallelism: 2, completions: 2, template } } }] }),
    ).toBe(4);
    expect(counts('LeaderWorkerSet', { replicas: 2, leaderWorkerTemplate: { size: 3, workerTemplate: template } })).toBe(6);
    expect(counts('RayJob', { rayClusterSpec: { headGroupSpec: { template }, workerGroupSpecs: [{ replicas: 2, template }] } })).toBe(3);
    expect(counts('CronJob', { jobTemplate: { spec: { template } } })).toBe(1);
    expect(counts('DaemonSet', { template })).toBe(0);
  });
});
