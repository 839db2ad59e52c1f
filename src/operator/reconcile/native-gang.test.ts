import { describe, expect, it } from 'vitest';
import { ALL, gang, type GangWorld, MASTER, role } from '../../../test/operator/gang-world.ts';
import { plainKind } from '../../kube/memory/stored-kind.ts';
import { at, fieldsOf, textAt } from '../../kube/objects/fields.ts';
import { NATIVE_GROUPS } from '../kinds/native-gang.ts';

/** A cluster that serves its own PodGroups. */
function native(world: GangWorld): GangWorld {
  world.hasNativeGangs = true;
  world.cluster.install(plainKind(NATIVE_GROUPS));
  return world;
}

const groups = (world: GangWorld): readonly string[] => world.cluster.all(NATIVE_GROUPS).map(({ metadata }) => metadata.name);
const groupOf = (world: GangWorld, pod: string): string | null => textAt(world.pod(pod), 'spec', 'schedulingGroup', 'podGroupName');

/** One master and two workers, with these fields in the pods of the workers. */
const withWorkers = (more: Readonly<Record<string, unknown>>) => ({
  ...MASTER,
  Worker: { replicas: 2, template: { spec: { ...more, containers: [{ name: 'pytorch', image: 'i' }] } } },
});

describe('where Kubernetes schedules gangs by itself', () => {
  it('each attempt has a PodGroup of all its pods, which is preempted as a whole', async () => {
    const world = native(gang());
    await world.start();
    expect(world.cluster.all(NATIVE_GROUPS).map((group) => [group.metadata.name, group['spec']])).toEqual([
      ['j-attempt-1', { schedulingPolicy: { gang: { minCount: 3 } }, disruptionMode: { all: {} } }],
    ]);
    expect(groupOf(world, 'j-worker-1')).toBe('j-attempt-1');
    world.remove('j-worker-0');
    await world.settle();
    world.finishAll();
    await world.settle();
    expect([world.pods, groups(world), groupOf(world, 'j-master-0')]).toEqual([ALL(2), ['j-attempt-2'], 'j-attempt-2']);
  });

  it('the group goes when the job is suspended, and when it has ended', async () => {
    const world = native(gang());
    await world.start();
    world.suspend(true);
    await world.settle();
    world.finishAll();
    await world.settle();
    expect(groups(world)).toEqual([]);
    world.suspend(false);
    await world.start();
    expect(groups(world)).toEqual(['j-attempt-2']);
    for (const name of ['j-worker-0', 'j-worker-1', 'j-master-0']) world.exit(name, 0);
    await world.settle();
    expect(groups(world)).toEqual([]);
  });

  it('the group has the priority class of its members', async () => {
    const spec = { priorityClassName: 'urgent', containers: [{ name: 'pytorch', image: 'i' }] };
    const world = native(gang({}, {}, { Master: { replicas: 1, template: { spec } }, Worker: { replicas: 2, template: { spec } } }));
    await world.start();
    expect(fieldsOf(world.cluster.all(NATIVE_GROUPS)[0]?.['spec'])).toMatchObject({ priorityClassName: 'urgent' });
  });

  it('an elastic job waits for its smallest number of workers alone', async () => {
    const world = native(gang({}, {}, { Worker: role('pytorch', 3) }));
    world.edit((spec) => ({ ...spec, elasticPolicy: { minReplicas: 2, maxReplicas: 4 } }));
    await world.start();
    expect(at(world.cluster.all(NATIVE_GROUPS)[0], 'spec', 'schedulingPolicy')).toEqual({ gang: { minCount: 2 } });
    expect(groupOf(world, 'j-worker-2')).toBe('j-attempt-1');
  });

  it.each<[string, GangWorld]>([
    ['opts out', gang({}, { 'holdfast.dev/native-gang': 'false' })],
    ['brings a group of its own', gang({}, {}, withWorkers({ schedulingGroup: { podGroupName: 'mine' } }))],
    ['has pods of several priorities', gang({}, {}, withWorkers({ priorityClassName: 'urgent' }))],
  ])('a job that %s gets no group', async (_, world) => {
    native(world);
    await world.start();
    expect([groups(world), groupOf(world, 'j-master-0')]).toEqual([[], null]);
  });
});

it('no pod is in a group where Kubernetes does not schedule gangs', async () => {
  const world = gang();
  await world.start();
  expect(groupOf(world, 'j-master-0')).toBeNull();
});
