import { describe, expect, it } from 'vitest';
import { objects } from '../../../../test/support/cluster-objects.ts';
import { gpuNode, gpuPod, world } from '../../../../test/support/whatif-world.ts';
import { answerApply } from '../answer.ts';
import type { Alternative } from './alternative.ts';

interface Trained {
  readonly startTime: string;
  readonly saveSeconds: number | null;
  readonly annotations?: object;
}

/** A gang of one pod with four GPUs on a node of its own, with its record. */
function gang(name: string, { startTime, saveSeconds, annotations = {} }: Trained): readonly unknown[] {
  return [
    gpuNode(name, 4),
    gpuPod(`${name}-0`, { node: name, gpus: 4, priority: 1, owner: ['PyTorchJob', name], startTime }),
    { kind: 'PyTorchJob', metadata: { name, namespace: 'ml', uid: `uid-${name}`, annotations } },
    {
      kind: 'TrainingRun',
      metadata: { name, namespace: 'ml' },
      spec: { job: { kind: 'PyTorchJob', name } },
      status: { attempt: 1, progress: { sealedAt: '2026-11-18T08:30:00Z', saveSeconds } },
    },
  ];
}

/** Of equal priorities the scheduler evicts the youngest. */
const SLOW = gang('slow', { startTime: '2026-11-18T08:00:00Z', saveSeconds: 30 });
const QUICK = { startTime: '2026-11-18T07:00:00Z', saveSeconds: 2 };

function offered(values: readonly unknown[], priority = 1000, replicas = 1): Alternative | undefined {
  const pod = {
    kind: 'Pod',
    metadata: { name: 'new', namespace: 'ml' },
    spec: { priority, containers: [{ name: 'c', resources: { limits: { 'nvidia.com/gpu': 4 } } }] },
  };
  const { alternatives, evicted } = answerApply(world(...values), objects(pod), { namespace: 'ml', replicas });
  expect(evicted[0]?.pod.name).toBe('slow-0');
  return alternatives.find(({ kind }) => kind === 'make-room');
}

describe('the offer to make room', () => {
  it('names the gang that the operator would choose, not the one that the scheduler would evict', () => {
    expect(offered([...SLOW, ...gang('quick', QUICK)])).toMatchObject({
      title: 'have pytorchjob/quick in ml save first, then leave',
      stops: ['pytorchjob/quick in ml'],
      cost: { acceleratorSeconds: 4 * 2, worst: 4 * 2 },
    });
  });

  it('leaves out a gang that has not run for its min-runtime', () => {
    const young = gang('quick', { ...QUICK, annotations: { 'holdfast.dev/min-runtime': '3h' } });
    expect(offered([...SLOW, ...young])?.stops).toEqual(['pytorchjob/slow in ml']);
  });

  it('is not made where no save was measured: the deadline may pass, and all unsaved work be lost', () => {
    expect(offered(gang('slow', { startTime: '2026-11-18T08:00:00Z', saveSeconds: null }))).toBeUndefined();
  });

  it('has a gang for each pod, and is not made where a pod would find no room', () => {
    const both = [...SLOW, ...gang('quick', QUICK)];
    expect(offered(both, 1000, 2)?.stops).toEqual(['pytorchjob/quick in ml', 'pytorchjob/slow in ml']);
    expect(offered(both, 1000, 3)).toBeUndefined();
  });

  it('is not made to pods of a class that nobody may create', () => {
    expect(offered([...SLOW, ...gang('quick', QUICK)], 2_000_001_000)).toBeUndefined();
  });
});
