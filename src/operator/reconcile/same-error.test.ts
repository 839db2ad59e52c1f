import { describe, expect, it } from 'vitest';
import { ALL, gang, GangWorld, role } from '../../../test/operator/gang-world.ts';
import { textAt } from '../../kube/objects/fields.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';

const HOUR_MS = 3_600_000;

/** Fails worker 0 with the same last line so many times. */
async function failAgain(world: GangWorld, times: number): Promise<void> {
  for (let time = 1; time <= times; time++) {
    await world.start();
    world.logs.set('j-worker-0', `step ${time * 7}\nValueError: shapes differ at 0x7f${time}a`);
    world.exit('j-worker-0', 1);
    await world.settle();
    world.finishAll();
    await world.clock.advance(HOUR_MS);
  }
}

const told = (world: GangWorld): readonly string[] => world.events.filter((event) => event.startsWith('SameError'));
const TEXT = 'the same error came 3 times without progress, and no backoffLimit ends the run';

describe('the same error without a backoffLimit', () => {
  it('restarts with a back-off; from the third time on the TrainingRun says so, and one event', async () => {
    const world = gang();
    await failAgain(world, 2);
    expect([told(world), world.run['status']]).toMatchObject([[], { isRepeating: false }]);
    await failAgain(world, 1);
    expect(told(world)).toEqual([`SameError: ${TEXT}: correct the program, or set a backoffLimit`]);
    expect(world.run['status']).toMatchObject({ phase: 'BackingOff', isRepeating: true });
    expect(textAt(world.run, 'status', 'message')).toContain(TEXT);
    await failAgain(world, 1);
    await world.settle();
    expect([told(world).length, world.pods]).toEqual([1, ALL(5)]);
  });

  it('is told also of a replica that is replaced alone', async () => {
    const elasticPolicy = { minReplicas: 1, maxReplicas: 2, rdzvHost: 'elsewhere' };
    const Worker = role('pytorch', 2, { restartPolicy: 'OnFailure' });
    const world = new GangWorld(PYTORCH_JOB, { pytorchReplicaSpecs: { Worker }, elasticPolicy });
    await failAgain(world, 3);
    expect([told(world).length, world.attempt]).toEqual([1, 1]);
  });
});
