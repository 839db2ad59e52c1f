import { describe, expect, it } from 'vitest';
import { GangWorld, role } from '../../../test/operator/gang-world.ts';
import { TF_JOB } from '../kinds/tensorflow.ts';

describe('the restarts in place of an evaluator', () => {
  const restarted = async (spoil: (world: GangWorld) => Promise<void>): Promise<string> => {
    const roles = { Chief: role('tensorflow', 1), Evaluator: role('tensorflow', 1, { restartPolicy: 'OnFailure' }) };
    const world = new GangWorld(TF_JOB, { tfReplicaSpecs: roles, runPolicy: { backoffLimit: 2 } });
    await world.start();
    await spoil(world);
    world.setStatus('j-evaluator-0', { phase: 'Running', containerStatuses: [{ name: 'tensorflow', restartCount: 2 }] });
    await world.settle();
    return world.conditions;
  };

  it('fail the job at its backoffLimit, as in v1', async () => {
    expect(await restarted(() => Promise.resolve())).toBe('Created !Running Failed');
  });

  it('count for nothing once their attempt has ended', async () => {
    const interrupted = async (world: GangWorld): Promise<void> => {
      world.remove('j-chief-0');
      await world.settle();
    };
    expect(await restarted(interrupted)).toBe('Created Restarting');
  });
});
