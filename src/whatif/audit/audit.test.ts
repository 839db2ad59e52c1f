import { describe, expect, it } from 'vitest';
import { exampleWorld, gpuNode, gpuPod, world } from '../../../test/support/whatif-world.ts';
import { auditCluster } from './audit.ts';

const className = (name: string, value: number, preemptionPolicy?: string): unknown => ({
  kind: 'PriorityClass',
  metadata: { name },
  value,
  preemptionPolicy,
});
const found = (...values: readonly unknown[]): Readonly<Record<string, string>> =>
  Object.fromEntries(auditCluster(world(...values)).map(({ code, subject }) => [code, subject]));
const TRAINING = gpuPod('t', { node: 'a', gpus: 6, priority: 100, owner: ['PyTorchJob', 'x'], spec: { priorityClassName: 'training' } });

describe('whatif audit', () => {
  it('reports the training of the example that inference may evict, and what that would cost, the most first', () => {
    const risks = auditCluster(exampleWorld()).filter(({ code }) => code === 'TRAINING_EVICTABLE');
    expect(risks.map(({ subject }) => subject)).toEqual(['job/resnet in ml', 'pytorchjob/llama in ml', 'job/sweep-7 in ml']);
    expect(risks[0]?.evidence).toContain('unknown, at most 36');
    expect(risks[1]?.evidence).toContain('5.5 GPU-hours');
  });

  it.each([
    ['POLICY_UNKNOWN', [className('bad', 5, 'PreemptHigherPriority')], 'priorityclass/bad'],
    [
      'WAITS_BEHIND_LESS_IMPORTANT',
      [gpuNode('a', 8), TRAINING, gpuPod('w', { gpus: 4, priority: 1000, spec: { preemptionPolicy: 'Never' } })],
      'pod/w in ml',
    ],
    [
      'SERVICE_BELOW_TRAINING',
      [gpuNode('a', 8), TRAINING, gpuPod('s', { node: 'a', priority: 1, owner: ['ReplicaSet', 's'] })],
      'pod/s in ml',
    ],
    [
      'GANG_STOPS_WITH_ONE',
      [className('high', 1000), TRAINING, gpuPod('u', { node: 'a', priority: 100, owner: ['PyTorchJob', 'x'] })],
      'pytorchjob/x in ml',
    ],
    ['MAY_EVICT_FIRST', [gpuNode('a', 8), gpuPod('asks', { annotations: { 'holdfast.dev/make-room': 'true' } })], 'pod/asks in ml'],
    ['POD_WITHOUT_CLASS', [gpuPod('u', { node: 'a' })], 'pod/u in ml'],
    ['CLASS_UNUSED', [className('idle', 7)], 'priorityclass/idle'],
    [
      'BUDGET_NOT_PROTECTING',
      [
        className('high', 1000),
        gpuNode('a', 8),
        gpuPod('p', { node: 'a', priority: 5, labels: { app: 'x' } }),
        { kind: 'PodDisruptionBudget', metadata: { name: 'b', namespace: 'ml' }, spec: { selector: { matchLabels: { app: 'x' } } } },
      ],
      'poddisruptionbudget/b in ml',
    ],
    [
      'FRAGMENTED',
      [gpuNode('a', 4), gpuNode('b', 4), gpuPod('p', { node: 'a', gpus: 3 }), gpuPod('q', { node: 'b', gpus: 2 })],
      '3 nvidia.com/gpu',
    ],
  ] as const)('finds %s', (code, values, subject) => {
    expect(found(...values)[code]).toBe(subject);
  });

  it('does not call it fragmentation where a cordon or a taint keeps pods from free accelerators', () => {
    const taint = { taints: [{ key: 'team', value: 'b', effect: 'NoSchedule' }] };
    const full = [gpuNode('a', 1), gpuPod('p', { node: 'a' })];
    expect(found(...full, gpuNode('b', 4, { spec: { unschedulable: true } }))).not.toHaveProperty('FRAGMENTED');
    expect(found(...full, gpuNode('b', 4, { spec: taint }))).not.toHaveProperty('FRAGMENTED');
  });

  it('finds a policy that does not exist in a pod template', () => {
    const template = { spec: { preemptionPolicy: 'PreemptHigherPriority', containers: [{ name: 'c' }] } };
    expect(found({ kind: 'PyTorchJob', metadata: { name: 'x' }, spec: { pytorchReplicaSpecs: { Worker: { template } } } })).toHaveProperty(
      'POLICY_UNKNOWN',
    );
  });

  it('finds nothing in a pod that asks for room and waits for it', () => {
    const annotations = { 'holdfast.dev/make-room': 'true' };
    expect(found(gpuPod('asks', { annotations, spec: { preemptionPolicy: 'Never' } }))).not.toHaveProperty('MAY_EVICT_FIRST');
  });

  it('finds nothing in an empty cluster, and no risk from a class that never preempts', () => {
    expect(found(gpuNode('a', 8))).toEqual({});
    expect(found(gpuNode('a', 8), TRAINING, className('high', 1000, 'Never'))).not.toHaveProperty('TRAINING_EVICTABLE');
  });
});
